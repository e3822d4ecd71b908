// Package machine holds simulated machines as data, and turns them into the
// devices of a node.
package machine

import _ "github.com/dray-dev/dray/kubeletplugin/hardware" // the model that machines become

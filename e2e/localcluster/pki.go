package localcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLife is long: the folder's owner is the only one who trusts them.
const certificateLife = 10 * 365 * 24 * time.Hour

// authority signs the certificates of one cluster.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	now  time.Time
}

// makePKI makes keys and certificates where there are none yet: all of them in
// another directory that is then renamed, so that there are all or none.
func makePKI(dir folder, now time.Time) error {
	final := dir.pki("")
	if _, err := os.Stat(final); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temporary := dir.path("pki.new")
	if err := os.RemoveAll(temporary); err != nil {
		return err
	}
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	if err := writePKI(temporary, now); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	return os.Rename(temporary, final)
}

func writePKI(dir string, now time.Time) error {
	a := &authority{dir: dir, now: now}
	template := a.template("dray-local")
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign
	var err error
	if a.cert, a.key, err = a.write("ca", template); err != nil {
		return err
	}
	// Servers of etcd's peer protocol are clients of each other as well.
	server := a.template("dray-local-server")
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	server.IPAddresses = []net.IP{net.ParseIP(loopback)}
	server.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	if _, _, err := a.write("server", server); err != nil {
		return err
	}
	for _, user := range []struct{ file, name, group string }{
		{string(userAdmin), "dray-local-admin", "system:masters"},
		{string(userControllers), "system:kube-controller-manager", ""},
		{"etcd-client", "dray-local-etcd-client", ""},
		{"front-proxy", frontProxy, ""},
	} {
		client := a.template(user.name)
		client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		if user.group != "" {
			client.Subject.Organization = []string{user.group}
		}
		if _, _, err := a.write(user.file, client); err != nil {
			return err
		}
	}
	_, err = a.writeKey("tokens")
	return err
}

// loadAuthority is the authority of a cluster that has its certificates.
func loadAuthority(dir folder, now time.Time) (*authority, error) {
	pair, err := tls.LoadX509KeyPair(dir.pki("ca.crt"), dir.pki("ca.key"))
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds no key that can sign", dir.pki("ca.key"))
	}
	return &authority{dir: dir.pki(""), cert: pair.Leaf, key: key, now: now}, nil
}

// nodeCertificate makes the key and the certificate of a node, as PEM.
func (a *authority) nodeCertificate(node string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := a.template(nodeUserPrefix + node)
	template.Subject.Organization = []string{nodesGroup}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if template.SerialNumber, err = serialNumber(); err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), nil
}

// The user that a node is, and its group: what the API server's Node authorizer knows
// nodes by.
const nodeUserPrefix, nodesGroup = "system:node:", "system:nodes"

func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

func (a *authority) template(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: a.now.Add(-time.Hour), // clocks are set back now and then
		NotAfter:  a.now.Add(certificateLife),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

// write makes a key and its certificate; the first is the authority's own.
func (a *authority) write(name string, template *x509.Certificate) (*x509.Certificate, crypto.Signer, error) {
	key, err := a.writeKey(name)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = serialNumber(); err != nil {
		return nil, nil, err
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return cert, key, writePEM(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der)
}

func (a *authority) writeKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(filepath.Join(a.dir, name+".key"), "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

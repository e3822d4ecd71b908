module github.com/dray-dev/dray/tools

go 1.26.0

require (
	github.com/yuin/goldmark v1.8.7
	golang.org/x/mod v0.37.0
)

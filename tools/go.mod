module github.com/dray-dev/dray/tools

go 1.26.0

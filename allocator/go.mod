module github.com/dray-dev/dray/allocator

go 1.26.0

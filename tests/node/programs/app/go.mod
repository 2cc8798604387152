module app

go 1.21

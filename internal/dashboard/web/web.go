package web

import (
	"embed"
	"io/fs"
)

//go:embed pages
var embedded embed.FS

// Assets returns the files of the pages: index.html, to be served for /, and assets/app.js and
// assets/app.css, which it loads.
func Assets() fs.FS {
	pages, err := fs.Sub(embedded, "pages")
	if err != nil {
		panic("web: the folder of the pages is not embedded: " + err.Error()) // it is a constant
	}
	return pages
}

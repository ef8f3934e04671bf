package api

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"

	"pannier"
)

// multipartMedia is the media type of a body that has each file as a part.
const multipartMedia = "multipart/form-data"

// The bounds of the parts of a body. The rules of archives bound the files; these bound what is in memory.
const (
	maxParts     = 1 << 14
	maxPartNames = 4 << 20 // bytes of all names
	filePart     = "file"
)

// packParts returns what writes the files of a body with parts as an archive, so that the same rules hold for both.
// The name of the file of a part is its path.
func packParts(body io.Reader, boundary string) func(io.Writer) error {
	return func(w io.Writer) error {
		from, p := multipart.NewReader(body, boundary), &partPacker{to: zip.NewWriter(w)}
		for {
			part, err := from.NextRawPart()
			if errors.Is(err, io.EOF) {
				return p.to.Close()
			}
			if err == nil {
				err = p.pack(part)
			}
			if err != nil {
				return partError(err)
			}
		}
	}
}

type partPacker struct {
	to    *zip.Writer
	parts int
	names int
}

func (p *partPacker) pack(part *multipart.Part) error {
	// Part.FileName leaves out directories.
	_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name := parameters["filename"]
	switch {
	case err != nil || parameters["name"] != filePart || name == "":
		return badPart(
			fmt.Sprintf("part %d is not a file", p.parts+1),
			"call each part file, and give its path as the name of its file",
		)
	case name[len(name)-1] == '/':
		return badPart(fmt.Sprintf("part %d is a directory: %.120q", p.parts+1, name), "send files only")
	}
	p.names += len(name)
	if p.parts++; p.parts > maxParts || p.names > maxPartNames {
		return &pannier.Refusal{
			Code: "archive.entries",
			Message: fmt.Sprintf(
				"the body has more than %d files, or names of more than %d bytes",
				maxParts,
				maxPartNames,
			),
			Hint: "send fewer at a time",
		}
	}
	to, err := p.to.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return badPart(fmt.Sprintf("part %d cannot be packed: %s", p.parts, err), "use a shorter path")
	}
	_, err = io.Copy(to, part)
	return err
}

func badPart(detail, hint string) error {
	return &statusError{http.StatusBadRequest, "invalid_body", "invalid body: " + detail, hint}
}

// partError explains an error of reading the parts.
func partError(err error) error {
	_, refused := errors.AsType[*pannier.Refusal](err)
	_, told := errors.AsType[*statusError](err)
	_, malformed := errors.AsType[textproto.ProtocolError](err)
	switch tooLarge, ok := errors.AsType[*http.MaxBytesError](err); {
	case refused || told:
		return err
	case ok:
		return &pannier.Refusal{
			Code: "upload.size_limit", Message: fmt.Sprintf("the body has more than %d bytes", tooLarge.Limit-1),
			Hint: "leave out unneeded files, or raise install.max_compressed_bytes",
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badPart("it ends before its last boundary", "send all of it")
	case malformed:
		return badPart("the header of a part is malformed", "rename files with control characters in their names")
	case errors.Is(err, multipart.ErrMessageTooLarge):
		return badPart("the header of a part is too large", "use a shorter path")
	}
	return err
}

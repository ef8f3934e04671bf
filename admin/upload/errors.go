package upload

import (
	"fmt"

	"pannier"
)

func refuse(code, hint, format string, args ...any) *pannier.Refusal {
	return &pannier.Refusal{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func notFound(id string) *pannier.Refusal {
	return refuse("upload.not_found", "start a new upload", "upload %.100q not found for this client", id)
}

func inUse(id string) *pannier.Refusal {
	return refuse("upload.status", "wait until the installation has ended", "upload %s is being installed", id)
}

// wrongStatus says that an operation is not allowed in the status of an upload.
func wrongStatus(id string, status pannier.UploadStatus, verb string) *pannier.Refusal {
	if status == pannier.UploadExpired {
		return refuse("upload.expired", "start a new upload", "upload %s has expired", id)
	}
	return refuse("upload.status", "start another", "upload %s is %s: it cannot %s", id, status, verb)
}

// fault is a refusal of a chunk. next is where the upload continues, -1 if it does not.
func fault(c pannier.UploadChunk, next int64, r *pannier.Refusal) *pannier.UploadFault {
	return &pannier.UploadFault{Refusal: *r, UploadID: c.UploadID, Offset: c.Offset, Next: next}
}

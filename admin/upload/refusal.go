package upload

import (
	"fmt"

	"pannier"
)

func refuse(code, hint, format string, args ...any) *pannier.Refusal {
	return &pannier.Refusal{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func notFound(id string) *pannier.Refusal {
	return refuse("upload.not_found", "start it anew", "there is no upload %.100q of this caller", id)
}

func expired(id string) *pannier.Refusal {
	return refuse("upload.expired", "start it anew", "upload %s has waited too long for its next chunk", id)
}

func inUse(id string) *pannier.Refusal {
	return refuse("upload.status", "wait until that has ended", "upload %s is being installed", id)
}

// wrongStatus says that something can not be done as an upload stands.
func wrongStatus(id string, status pannier.UploadStatus, verb string) *pannier.Refusal {
	if status == pannier.UploadExpired {
		return expired(id)
	}
	return refuse("upload.status", "start another", "upload %s is %s: it can not %s", id, status, verb)
}

// fault makes a refusal one of a chunk; next is where the upload goes on, -1 where it does not.
func fault(c pannier.UploadChunk, next int64, r *pannier.Refusal) *pannier.UploadFault {
	return &pannier.UploadFault{Refusal: *r, UploadID: c.UploadID, Offset: c.Offset, Next: next}
}

package rpc

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"

	"pannier"
	"pannier/service"
)

type uploadStartParams struct {
	inWorkspace
	FileName     string                `json:"file_name"`
	Format       pannier.ArchiveFormat `json:"archive_format"`
	Size         int64                 `json:"compressed_size_bytes"`
	UnpackedHint *int64                `json:"uncompressed_size_hint_bytes"`
	SHA256       string                `json:"sha256"`
}

type uploadStarted struct {
	UploadID         string `json:"upload_id"`
	RecommendedChunk int64  `json:"recommended_chunk_size_bytes"`
	MaxChunk         int64  `json:"max_chunk_size_bytes"`
	MaxCompressed    int64  `json:"max_compressed_size_bytes"`
	MaxUnpacked      int64  `json:"max_uncompressed_size_bytes"`
	ExpiresAt        int64  `json:"expires_at_unix"`
}

func (h *skills) uploadStart(ctx context.Context, _ *pannier.Snapshot, p uploadStartParams) (any, error) {
	sum, ok := parseSHA256(p.SHA256)
	if !ok {
		return nil, &pannier.Refusal{
			Code: "upload.digest", Message: "invalid sha256",
			Hint: "give that of the archive in 64 lower-case hexadecimal digits",
		}
	}
	up := pannier.UploadStart{FileName: p.FileName, Format: p.Format, Size: p.Size, SHA256: sum}
	if p.UnpackedHint != nil {
		up.UnpackedHint = *p.UnpackedHint
	}
	started, err := h.Service.Uploads.Start(ctx, service.ActorFrom(ctx).Owner(), up)
	if err != nil {
		return nil, err
	}
	l := h.Service.Uploads.Limits()
	return uploadStarted{
		started.ID, min(l.RecommendedChunk, l.MaxChunk), l.MaxChunk, l.MaxCompressed, l.MaxUnpacked,
		started.ExpiresAt.Unix(),
	}, nil
}

type uploadParams struct {
	inWorkspace
	UploadID string `json:"upload_id"`
}

// withUpload returns what does something with an upload of the client.
func withUpload(
	do func(service.Uploads, context.Context, string, string) (pannier.Upload, error), show func(pannier.Upload) any,
) callFunc {
	return calls(func(h *skills, ctx context.Context, _ *pannier.Snapshot, p uploadParams) (any, error) {
		if p.UploadID == "" {
			return nil, &pannier.Refusal{
				Code:    "upload.id",
				Message: "upload_id is empty",
				Hint:    "give that of skills/upload/start",
			}
		}
		up, err := do(h.Service.Uploads, ctx, service.ActorFrom(ctx).Owner(), p.UploadID)
		if err != nil {
			return nil, err
		}
		return show(up), nil
	})
}

type upload struct {
	UploadID string               `json:"upload_id"`
	Status   pannier.UploadStatus `json:"status"`
}

type uploadFinished struct {
	upload
	SHA256 string `json:"sha256"` // bare, as the protocol has it
	Size   int64  `json:"compressed_size_bytes"`
}

type uploadState struct {
	upload
	FileName  string `json:"file_name"`
	Received  int64  `json:"received_bytes"`
	Next      int64  `json:"next_offset"`
	Size      int64  `json:"compressed_size_bytes"`
	ExpiresAt int64  `json:"expires_at_unix"`
}

var (
	finishUpload = withUpload(service.Uploads.Finish, func(up pannier.Upload) any {
		return uploadFinished{upload{up.ID, up.Status}, hex.EncodeToString(up.SHA256[:]), up.Size}
	})
	abortUpload = withUpload(service.Uploads.Abort, func(up pannier.Upload) any { return upload{up.ID, up.Status} })
	// showUpload is skills/upload/status: a client that reconnects continues at next_offset.
	showUpload = withUpload(service.Uploads.Status, func(up pannier.Upload) any {
		return uploadState{
			upload{up.ID, up.Status}, up.FileName, up.Received, up.Received, up.Size, up.ExpiresAt.Unix(),
		}
	})
)

type chunkFault struct {
	UploadID string `json:"upload_id"`
	Offset   int64  `json:"offset"`
	// Code is that of an error of a method, Reason the finer one that its details have.
	Code    string `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// Next is where the next chunk has to begin; -1 where there can be none.
	Next int64 `json:"next_offset"`
}

func (h *skills) chunk(r *http.Request, frame io.Reader) Notification {
	c, fault := parseHeader(frame)
	var err error
	if c.WorkspaceID != "" {
		err = h.checkWorkspace(c.WorkspaceID)
	}
	if err == nil {
		err = h.Service.Require(r.Context(), service.Request{Name: "skills/upload/chunk"}, service.ScopeWrite)
	}
	switch {
	case err != nil:
		return h.chunkFault(r, c, -1, cmp.Or(fault, err))
	case fault != nil:
		return h.chunkFault(r, c, h.nextOffset(r, c, fault), fault)
	}
	ack, err := h.Service.Uploads.Append(r.Context(), service.ActorFrom(r.Context()).Owner(), c, frame)
	if err != nil {
		return h.chunkFault(r, c, h.nextOffset(r, c, err), err)
	}
	return Notification{Method: "skills/upload/chunk_ack", Params: ack}
}

// nextOffset returns where an upload goes on after a chunk that was not taken in.
func (h *skills) nextOffset(r *http.Request, c pannier.UploadChunk, err error) int64 {
	if fault, ok := errors.AsType[*pannier.UploadFault](err); ok {
		return fault.Next
	}
	up, err := h.Service.Uploads.Status(r.Context(), service.ActorFrom(r.Context()).Owner(), c.UploadID)
	if err != nil || up.Status != pannier.UploadReceiving {
		return -1
	}
	return up.Received
}

func (h *skills) chunkFault(r *http.Request, c pannier.UploadChunk, next int64, err error) Notification {
	if fault, ok := errors.AsType[*pannier.UploadFault](err); ok {
		err = &fault.Refusal
	}
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		failed = h.errorOf(r, err)
	}
	details := failed.Data.Details
	return Notification{
		Method: "skills/upload/chunk_error",
		Params: chunkFault{c.UploadID, c.Offset, failed.Data.Code, details.Code, details.Error, next},
	}
}

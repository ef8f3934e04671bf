package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Signatures and fixed lengths of the headers of a zip (APPNOTE.TXT 4.3).
const (
	localSignature     = "PK\x03\x04"
	recordSignature    = "PK\x01\x02"
	endSignature       = "PK\x05\x06"
	end64Signature     = "PK\x06\x07"
	localHeaderBytes   = 30
	recordHeaderBytes  = 46
	endHeaderBytes     = 22
	end64LocatorBytes  = 20
	maxCommentBytes    = 1<<16 - 1
	extraUnicodePath   = 0x7075
	unicodePathPreface = 5
)

// record is an entry of the central directory. The local header must match it.
type record struct {
	system             byte
	flags, method      uint16
	sum                uint32
	compressed, size   uint32
	attributes, offset uint32
	name               string
	// localExtra is the length of the extra fields of the local header.
	localExtra uint16
}

// contents is the offset of the compressed bytes.
func (r record) contents() int64 {
	return int64(r.offset) + localHeaderBytes + int64(len(r.name)) + int64(r.localExtra)
}

// end is the offset after the compressed bytes.
func (r record) end() int64 { return r.contents() + int64(r.compressed) }

// directoryEnd is the end of central directory record.
type directoryEnd struct {
	records      int
	begin, bytes int64
}

// readDirectory reads the central directory and returns its offset too. It must be right before the end record and have
// the declared number of records.
func readDirectory(s *source, maxEntries int) ([]record, int64, error) {
	end, err := readEnd(s)
	switch {
	case err != nil:
		return nil, 0, err
	case end.records == 0:
		return nil, 0, refuse("empty", "the archive has no entry")
	case end.records > maxEntries:
		return nil, 0, refuse("entries", fmt.Sprintf("the archive has %d entries; at most %d are allowed", end.records, maxEntries))
	}
	from := bufio.NewReaderSize(io.NewSectionReader(s, end.begin, end.bytes), blockBytes)
	records := make([]record, end.records)
	for i := range records {
		if err := readRecord(from, &records[i], end.begin); err != nil {
			return nil, 0, err
		}
	}
	switch _, err := from.ReadByte(); {
	case err == nil:
		return nil, 0, errors.New("its directory has more records than declared")
	case !errors.Is(err, io.EOF):
		return nil, 0, err
	}
	return records, end.begin, nil
}

// readEnd reads the last end record; its comment must end the archive.
func readEnd(s *source) (directoryEnd, error) {
	tail := make([]byte, min(s.Size, endHeaderBytes+maxCommentBytes))
	at := s.Size - int64(len(tail))
	if _, err := s.ReadAt(tail, at); err != nil && !errors.Is(err, io.EOF) {
		return directoryEnd{}, err
	}
	i := bytes.LastIndex(tail, []byte(endSignature))
	if i < 0 || len(tail)-i < endHeaderBytes {
		return directoryEnd{}, io.ErrUnexpectedEOF
	}
	if i >= end64LocatorBytes && string(tail[i-end64LocatorBytes:][:4]) == end64Signature {
		return directoryEnd{}, refuse("zip64", "the archive is a zip64")
	}
	header, at := tail[i:], at+int64(i)
	le := binary.LittleEndian
	end := directoryEnd{records: int(le.Uint16(header[10:])), bytes: int64(le.Uint32(header[12:])), begin: int64(le.Uint32(header[16:]))}
	switch {
	case end.records == 1<<16-1, end.bytes == 1<<32-1, end.begin == 1<<32-1:
		return end, refuse("zip64", "the archive is a zip64")
	case le.Uint32(header[4:]) != 0 || le.Uint16(header[8:]) != le.Uint16(header[10:]):
		return end, errors.New("it is a part of a multi-part archive")
	case len(header)-endHeaderBytes < int(le.Uint16(header[20:])):
		return end, io.ErrUnexpectedEOF
	case len(header)-endHeaderBytes > int(le.Uint16(header[20:])):
		return end, refuse("trailing_data", "there is data after the end of the archive")
	case end.begin+end.bytes != at:
		return end, errors.New("its directory is not at the declared offset")
	}
	return end, nil
}

// readRecord reads the next record. File data precedes the directory.
func readRecord(from io.Reader, r *record, directory int64) error {
	var header [recordHeaderBytes]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	if string(header[:4]) != recordSignature {
		return errors.New("its directory is invalid")
	}
	*r = record{
		system: header[5], flags: le.Uint16(header[8:]), method: le.Uint16(header[10:]), sum: le.Uint32(header[16:]),
		compressed: le.Uint32(header[20:]), size: le.Uint32(header[24:]), attributes: le.Uint32(header[38:]), offset: le.Uint32(header[42:]),
	}
	name, extra, comment := int64(le.Uint16(header[28:])), int64(le.Uint16(header[30:])), int64(le.Uint16(header[32:]))
	if name > 2*maxPathBytes { // bounds the memory
		return refuse("path_length", fmt.Sprintf("a name in the archive has %d bytes", name))
	}
	text := make([]byte, name+extra)
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	r.name = string(text[:name])
	if err := checkExtra(r.name, text[name:]); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, from, comment); err != nil {
		return err
	}
	const moved = 1<<32 - 1
	switch disk := le.Uint16(header[34:]); {
	case r.size == moved, r.compressed == moved, r.offset == moved:
		return refuseEntry("zip64", r.name, "is an entry of a zip64")
	case disk != 0:
		return errors.New("it is a part of a multi-part archive")
	case r.end() > directory:
		return io.ErrUnexpectedEOF
	}
	return nil
}

// checkExtra refuses a second name that differs: readers disagree on which one they use.
func checkExtra(name string, extra []byte) error {
	for len(extra) >= 4 {
		id, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; size > len(extra) {
			return nil
		}
		if id == extraUnicodePath && (size < unicodePathPreface || string(extra[unicodePathPreface:size]) != name) {
			return refuseEntry("header_mismatch", name, "has another name in an extra field")
		}
		extra = extra[size:]
	}
	return nil
}

// checkLocal compares the local header of an entry with its record.
func checkLocal(s *source, r *record, directory int64) error {
	header := make([]byte, localHeaderBytes+len(r.name))
	if _, err := s.ReadAt(header, int64(r.offset)); err != nil {
		return err
	}
	if string(header[:4]) != localSignature {
		return errors.New("a directory record points to no file")
	}
	le := binary.LittleEndian
	const compared = flagEncrypted | flagDescriptor | flagPatch
	flags := le.Uint16(header[6:])
	same := string(header[localHeaderBytes:]) == r.name && int(le.Uint16(header[26:])) == len(r.name) &&
		flags&compared == r.flags&compared && le.Uint16(header[8:]) == r.method
	agree := func(at int, want uint32) bool {
		is := le.Uint32(header[at:])
		return is == want || is == 0 && r.flags&flagDescriptor != 0 // it follows the contents, as Info-ZIP writes to a pipe
	}
	if !same || !agree(14, r.sum) || !agree(18, r.compressed) || !agree(22, r.size) {
		return refuseEntry("header_mismatch", r.name, "has two headers that differ")
	}
	r.localExtra = le.Uint16(header[28:])
	if r.end() > directory {
		return io.ErrUnexpectedEOF
	}
	extra := make([]byte, r.localExtra)
	if _, err := s.ReadAt(extra, int64(r.offset)+localHeaderBytes+int64(len(r.name))); err != nil {
		return err
	}
	return checkExtra(r.name, extra)
}

// Package archive unpacks the archive of a skill into an empty directory, and packs the files of one.
//
// An archive comes from a stranger. [Unpack] reads it in blocks, writes regular files and directories through an
// [os.Root], and refuses whatever else there is, rather than to make the best of it: two readers of a doubtful archive see
// different files in it, and only one of them is the security scan. What was written before a refusal stays in the
// directory, for the caller to discard.
//
// # What is taken
//
// A tar_gz holds one top-level directory, and SKILL.md as a regular file in it (Pioneer skills protocol). It is one
// gzip member, and in it a tar with its two zero blocks at the end. Global headers that only comment, as git archive
// writes them, are passed over. A zip holds the same, or has SKILL.md at its top and no directory around it. Its entries are
// stored or deflated, and everything about them is checked before the first byte is written.
//
// Components "." and empty ones are dropped from paths. __MACOSX, ._*, .DS_Store and Thumbs.db are left out wherever they
// lie, and named in [Contents.Ignored]; they count against the limits, and a path that is refused is refused there too.
//
// Any bit to execute makes a file 0755, all others are 0644, directories are 0755. Owners, times and extended attributes are
// not kept. Files are synced one by one, directories when all is there, the deepest first, the target last.
//
// # What is refused
//
// A refusal is a [*pannier.Refusal]. The codes are stable:
//
//	archive.format            neither tar_gz nor zip, or not what it was said to be
//	archive.empty             no entry, or none but ignored ones
//	archive.truncated         ends before its end
//	archive.damaged           a header or checksum that does not hold
//	archive.trailing_data     something behind the end of the tar or of the gzip member
//	archive.entries           more entries, or directories that they imply, than allowed
//	archive.file_size         a file that is larger than allowed
//	archive.total_size        files, or headers about them, that come to more than allowed
//	archive.size_mismatch     a file that is longer or shorter than the archive says
//	archive.path_length       a path of more than 1,024 bytes, or a component of more than 255
//	archive.depth             more than 32 components, the top-level directory among them
//	archive.name_empty        a file without a name
//	archive.name_encoding     a name that is not UTF-8
//	archive.name_control      a control character in a name, or one that turns the direction of writing
//	archive.name_backslash    a backslash in a name
//	archive.absolute_path     a path from the root, or with a drive
//	archive.traversal         a component ".."
//	archive.top_level         more than one top-level directory, or a file beside it
//	archive.no_skill          no SKILL.md that is a regular file where it must be
//	archive.reserved          .pannier at the top of the skill, which is pannier's own, or .git and its like ([VersionControl]) anywhere,
//	                          or a directory that git takes for a bare repository
//	archive.duplicate         the same path twice
//	archive.collision         paths that are one where case or Unicode forms are not told apart
//	archive.conflict          a path that is a file and a directory
//	archive.directory_data    a directory with contents of its own
//	archive.link              a symbolic or hard link
//	archive.special           a device, a pipe, or a type that is not known
//	archive.sparse            a file with holes
//	archive.pax               a PAX record that moves or resizes entries behind the back of other readers
//	archive.encrypted         a zip entry that is encrypted
//	archive.method            a zip entry that is neither stored nor deflated
//	archive.zip64             a zip64 archive, which nothing below 4 GiB needs
//	archive.header_mismatch   a zip entry of which its two headers say different things
//	archive.overlap           zip entries that share bytes
//
// Every other error is of this side - a disk that is full, a source that can not be read, a context that is done - and
// wraps its cause.
//
// # Bounds
//
// Sizes are checked as declared and again as they come out, so a bomb ends at the limit. The stream of a tar, with
// headers and padding, may be longer than its files by 8 KiB for each entry and 1 MiB. Memory is a few blocks of 64 KiB
// and the names. The package has no goroutines.
package archive

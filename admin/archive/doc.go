// Package archive unpacks the archive of a skill into an empty directory, and packs the files of a skill.
//
// Archives are untrusted. [Unpack] reads them in blocks, writes regular files and directories through an [os.Root], and
// refuses everything else: different tools see different files in an ambiguous archive, and the security scan must see
// what the agent sees. After a refusal the caller discards the directory.
//
// # Accepted archives
//
// A tar_gz has one top-level directory with SKILL.md as a regular file in it (Pioneer skills protocol). It is one gzip
// member with a tar that ends with two zero blocks. Global headers with comments, as of git archive, are skipped. A zip
// has the same content, or SKILL.md at its top without a directory. Its entries are stored or deflated, and are checked
// before the first byte is written.
//
// Empty and "." components are dropped from paths. __MACOSX, ._*, .DS_Store and Thumbs.db are ignored anywhere, and
// named in [Contents.Ignored]; they count against the limits, and their paths are checked too.
//
// Files with any executable bit get mode 0755, others 0644, directories 0755. Owners, times and extended attributes are
// dropped. The caller syncs what was written.
//
// # Refusals
//
// A refusal is a [*pannier.Refusal]. The codes are stable:
//
//	archive.format            neither tar_gz nor zip, or not the announced format
//	archive.empty             no entry, or none but ignored ones
//	archive.truncated         the archive is incomplete
//	archive.damaged           an invalid header or checksum
//	archive.trailing_data     data after the end of the tar or of the gzip member
//	archive.entries           more entries, or directories implied by them, than allowed
//	archive.file_size         a file that is larger than allowed
//	archive.total_size        files, or their headers, that are larger together than allowed
//	archive.size_mismatch     a file that is longer or shorter than the archive says
//	archive.path_length       a path of more than 1,024 bytes, or a component of more than 255
//	archive.depth             more than 32 components, including the top-level directory
//	archive.name_empty        a file without a name
//	archive.name_encoding     a name that is not UTF-8
//	archive.name_control      a control or bidirectional formatting character in a name
//	archive.name_backslash    a backslash in a name
//	archive.absolute_path     an absolute path, or one with a drive
//	archive.traversal         a component ".."
//	archive.top_level         more than one top-level directory, or a file beside it
//	archive.skills            more than 200 skills in one archive
//	archive.no_skill          SKILL.md is missing, not a regular file, or in the wrong place
//	archive.reserved          .pannier at the top of the skill, a directory of [VersionControl] anywhere,
//	                          or a bare git repository
//	archive.duplicate         the same path twice
//	archive.collision         paths that differ only in case or Unicode form
//	archive.conflict          a path that is a file and a directory
//	archive.directory_data    a directory entry with data
//	archive.link              a symbolic or hard link
//	archive.special           a device, a pipe, or an unknown type
//	archive.sparse            a file with holes
//	archive.pax               a PAX record that changes the path or size of an entry for some readers only
//	archive.encrypted         a zip entry that is encrypted
//	archive.method            a zip entry that is neither stored nor deflated
//	archive.zip64             a zip64 archive; smaller archives do not need it
//	archive.header_mismatch   a zip entry whose two headers differ
//	archive.overlap           zip entries that share bytes
//
// Other errors are not caused by the archive, such as a full disk, an unreadable source or a canceled context. They
// wrap their cause.
//
// # Several skills
//
// [UnpackSeveral] takes an archive with any number of skills, at any depth. A fault in an entry concerns only the skill
// that the entry belongs to, except the bounds of the whole archive and paths that lead out of it. Files outside of all
// skills are not used.
//
// # Bounds
//
// Sizes are checked as declared and as unpacked, so a bomb ends at the limit. The stream of a tar may exceed the size
// of its files by 8 KiB for each entry and 1 MiB. Memory is a few blocks of 64 KiB and the names. The package has no
// goroutines.
package archive

// Package files moves skills by the files API of a Molecule platform, and reads back what it writes.
//
// That API reads and writes single files of a workspace's configuration directory, in a container or on a machine elsewhere.
// Its answers do not prove success (Molecule platform, as observed in 2026-04):
//
//   - A missing file is read with status 200 and an empty content, as an empty one is. [Client.Tree] distinguishes them.
//   - Contents are read without the blanks and line ends around them, so that comparisons ignore these. [Arrival] says for
//     which files.
//   - If the workspace is a container, a write to x may end at configs/x, with status 200. [Client.Put] sends one file first,
//     and nothing more if that is misplaced.
//   - Nothing can be removed: the answer is always 400. [Client.RemoveAll] tries it all the same, for platforms without this
//     fault.
//   - Contents are JSON strings: a file that is not UTF-8 text would be changed. [Check] refuses it.
//   - A write of several files adds to what is there, and replaces no directory.
//
// # Requests
//
// Requests are those of [pannier/publish/molecule.Client], bounded in time and in bytes. A request that is one too many (status
// 429) is sent again when the platform says, up to three times. No error holds the token, the value of a header, or the
// address of a request.
//
// # Refusals
//
// What a user can repair is a [*pannier.Refusal]. The codes are stable:
//
//	platform.address        the address of the platform or the workspace id is none
//	platform.token          the token cannot be read
//	platform.unreachable    nothing answers, or not in time
//	platform.unauthorized   the platform does not take the token (401)
//	platform.forbidden      the token may not do this (403)
//	platform.not_found      there is no such workspace, or the token may not see it (404)
//	platform.redirect       the platform is at another address
//	platform.busy           too many requests (429), still after waiting
//	platform.answer         any other answer that is not a success, or that cannot be read
//	files.text              a file is not a text
//	files.name              a name that the API does not take
//	files.size              a file, or all of them, are larger than can be sent and read back
//	files.misplaced         what was written lies below configs/, where no agent looks
//	files.not_stored        what was written is not there, or is not what was sent
//	files.not_found         there is no such skill
//	files.config            the list of config.yaml is not one that is edited here
package files

// Package files moves skills by the files API of a Molecule platform, and looks afterwards whether they are there.
//
// That API reads and writes single files of a workspace's configuration directory, in a container or on a machine elsewhere.
// Its answers are not to be believed (Molecule platform, as observed in 2026-04):
//
//   - A file that is missing is read with status 200 and an empty content, like one that is empty. [Client.Tree] tells them apart.
//   - What is read comes without the blanks and line ends around it, so that a comparison is up to these. [Arrival] says of
//     which files.
//   - Where the workspace is a container, what is written to x may come to lie at configs/x, with status 200. [Client.Put]
//     sends one file ahead, and nothing more when that has gone astray.
//   - Nothing can be removed: the answer is always 400. [Client.RemoveAll] asks all the same, for platforms that are mended.
//   - Contents are JSON strings: a file that is not UTF-8 text would come to be another one. [Check] refuses it.
//   - A write of several files adds to what is there, and replaces no directory.
//
// # Requests
//
// Each is bounded in time and in bytes, carries the token that is read anew for it, and follows redirects to the same scheme and host alone. One that was
// too many (status 429) is sent again when the platform says, up to three times. No error holds the token, the value of a
// header, or the address of a request.
//
// # Refusals
//
// What somebody can mend is a [*pannier.Refusal]. The codes are stable:
//
//	platform.address        the address of the platform or the workspace id is none
//	platform.token          the token can not be read
//	platform.unreachable    nothing answers, or not in time
//	platform.unauthorized   the platform does not take the token (401)
//	platform.forbidden      the token may not do this (403)
//	platform.not_found      there is no such workspace, or none for whoever asks (404)
//	platform.redirect       the platform is at another address
//	platform.busy           too many requests (429), still after waiting
//	platform.answer         any other answer that is no success, or that can not be read
//	files.text              a file is no text
//	files.name              a name that the API does not take
//	files.size              a file, or all of them, are larger than can be sent and read back
//	files.misplaced         what was written lies below configs/, where no agent looks
//	files.not_stored        what was written is not there, or is not what was sent
//	files.not_found         there is no such skill
//	files.config            the list of config.yaml is not one that is edited here
package files

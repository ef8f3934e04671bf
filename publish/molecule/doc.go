// Package molecule keeps a platform's registry endpoint holding the newest agent card.
//
// A [Publisher] has a slot for one card. [Publisher.Offer] puts a card into it, over whatever is there, and never
// blocks. [Publisher.Run] pushes what the slot holds, `POST /registry/update-card {workspace_id, agent_card}`, until the
// platform answered with a 2xx. What is pushed is always the whole card, so a lost push is healed by the next one and
// nothing but the newest card is ever worth sending.
//
// # Order
//
// One request is in flight at a time. A card that is offered meanwhile is sent next; one that is offered during a backoff
// takes the place of the one that waits and is tried at once, except where the platform itself asked for the wait
// (`Retry-After`), which newer cards wait out too. A card with the digest of the one that the platform is known to hold
// is not pushed. After a request with another card whose end is not known (a timeout, a broken connection, a 5xx), what
// the platform holds is not known either, and then even the last acknowledged card is pushed again.
//
// # Answers
//
//	2xx                                     acknowledged
//	no connection, timeout, 408, 5xx        again, after a random part of 100 ms, doubled each time up to 30 s
//	425, 429                                the same
//	401, 403                                once more at once with the token read anew, then about every 30 s, or as
//	                                        soon as the token is another one, which is looked at every second
//	400, 413, 422                           not before the card changes, about every 15 minutes, or about 30 s after the
//	                                        platform was heard of again; told once. Where [Publisher.Retry] asks
//	                                        for it at once, but two seconds apart at least
//	307, 308 to the same scheme and host    followed, three times at most
//	any other answer                        again, about every 30 s
//	2xx, but read back and not stored       the same
//
// `Retry-After` lengthens each of these waits, to five minutes at most. Dialing and the TLS handshake may take 5 s each,
// the head of the answer 10 s, everything together 15 s; 64 KiB of the body are read. Proxies are those of the
// environment; where one is named that is no URL, nothing is sent past it, unless NO_PROXY has the host. The CA file is looked
// at before each request, and read again when it is another one; while it can not be used the authorities before it count, or
// where there are none nothing is sent, and health says so (ca_file_unreadable). A connection of HTTP/2 on which nothing came for
// 10 s is asked for a sign of life, and closed without one after 5 s. When the context of Run ends, the request in flight has 2 s to finish and no other one starts.
//
// # Outbox
//
// With [Options.Outbox] the newest card is in a file before it is first tried, and that the platform took it is noted
// there before anybody is told. The file is replaced as a whole and synced, directory and all, and has no token in it. A
// publisher that starts pushes the card that it finds pending there, unless a newer one is offered before. One that the
// platform took is not pushed again; with read-back the platform is asked first whether it still holds it, and where it
// does not say so the card is pushed. Without read-back the file is believed, so that a card which an agent overwrote
// while nobody looked stays overwritten: use both.
//
// A file that does not fit together is ignored. One that can not be written is removed, if that can be done, and written
// once more, because on a disk that is full its room may have been what was missing. Where that fails too, cards are in
// memory only, which nobody but the log and a metric complains of, and it is tried again with the next change. Files are
// called by endpoint and workspace, so that the publishers of several platforms can share a directory.
//
// # Read-back
//
// A 2xx proves little: Molecule's platform answers so for workspaces that it does not know, and an agent that starts
// registers its own card over ours. With [Options.ReadBack] the workspace is read (`GET /workspaces/{id}`) after each
// push that was accepted, and every five minutes, give or take a tenth. The platform holds our card if the registered one
// has each of our top-level keys with an equal value; the order of keys, the way numbers are written and further keys do
// not count. A card that was accepted and is not there is a failure (`not_stored`), tried again about every 30 s and told
// as refused once. A card that was there and is not any more is pushed again.
//
// Reads may lag behind what was pushed, where a replica or a cache answers them. So each asks for no cached answer
// (`Cache-Control: no-cache`), and a card that was accepted and is not shown is looked for once more after two seconds before
// it counts as not stored. A card that the read before a push shows already is not pushed, and counts as taken; but not where
// another one was pushed in between, since what is shown may be from before that. Where the stream tells of another card and
// ours is still shown, that is looked at once more too.
//
// Before a push the registered card is read too, unless that was done in the last five seconds and the event stream has told of
// nothing since that may have changed it. Its top-level keys that
// pannier does not write are sent along, and its url where our card has none. With [Options.CardMaxBytes] the largest of them
// stay behind where the card would become larger than that, and health names them (card_foreign_keys_dropped) until a push
// has room for all. All digests are those of our own card, without what is sent along.
//
// A description of a workspace is read up to 64 MiB, of which the card and the status count, and of the card 4 MiB and what our
// own may take in it. A larger one is not ours, whatever it is. A text with a card in it is that card.
//
// A first push waits for the first read, up to 30 s where that fails in a way that passes (no connection, timeout, 408, 425,
// 429, 5xx) and for as long as the platform is not reached at all: a push without it takes away the url of the agent and what
// others have written. One that was made all the same is told for an hour, or until somebody writes beside our card again
// (card_pushed_unread).
//
// Reading never keeps a later card from being pushed, and an answer that tells nothing leaves a 2xx what it is. While the platform
// takes cards and does not show what it holds, health says so (read_back_unavailable), and events of the stream are believed as
// they are without read-back. It is asked again every five minutes, after each connection of the stream, and before the push
// that follows one that failed. Where the answer was that there is no such route (404 without a word of a workspace, 405, a page,
// a redirect elsewhere), or none came in time, it is not asked around other pushes until then, and where the platform said when
// (Retry-After), not at all.
//
// # Events
//
// With [Options.Events] the platform's stream (`GET /ws`, a WebSocket) is followed. It tells who registers a card over ours,
// by AGENT_CARD_UPDATED and WORKSPACE_ONLINE of our own workspace, and then the card is read back and pushed again at once;
// without read-back the event is believed. The stream has no numbers and no replay, so after each connection the card is
// read back and the peers are read, whatever was told. It has no pings either, so pannier sends one every 30 s. Of an event of
// more than 1 MiB, and what our own card may take in it, only the type and the workspace are read: the card in it is not ours.
// Where it does not tell them, it counts as one of every sort.
//
// The first event of our own workspace has the card read back at once, those that follow two seconds apart at least, however
// many there are. Without read-back an event says nothing that tells of a card which we pushed within the last minute, one of
// the last four, or that came before a push which is still to begin: the platform may tell late of what we did ourselves.
//
// A connection that ends is made anew after a random part of 100 ms, doubled each time up to 30 s, and from the beginning
// after one that has held for a minute; after 401, 403 and what is no WebSocket about every 30 s; after 404 about every
// five minutes. The token is read for each. Health tells of it (platform_events_lost), the log once for each row.
//
// Where something else replaces our card again and again, as a second sidecar on the same workspace does, each answer comes
// later than the one before, by the same doubling, until nobody has for five minutes. Health tells of it from the fourth
// time on (card_contested).
//
// # Peers
//
// With [Options.Peers] the workspace's peers are read (`GET /registry/{id}/peers`): at the start, after each connection of
// the stream, 250 ms after each event about another workspace, two seconds apart at least, and every five minutes. See
// [Publisher.Peers]. While they can not be read the last ones stay, and health says so (peers_stale).
//
// What peers publish is theirs, so nothing in it is believed and nothing in it breaks the list: of one that is not what it
// should be stays what can be told. A peer has a card of at most 256 KiB and 64 levels, without NUL and without halves of
// surrogate pairs; what has a NUL in its key is dropped. There are at most 1000 peers, with 8 MiB of cards together, of which
// the largest go first. The list is read as it comes and what is too large in it is read past, so that one peer costs no other
// one his place; only a list of more than 64 MiB, or one that takes more than the 15 s of a request, is not taken.
//
// # Secrets
//
// The token is asked for before each try and not kept. Neither it nor the value of an extra header is ever told in a log,
// an error, an event or the health, also where the platform repeats it in an answer; addresses are told without
// credentials and query.
//
// # Metrics
//
// Each has the label platform, [Options.Label], and exists from the start:
//
//	pannier_publish_total                           tries
//	pannier_publish_failed_total                    tries that failed, by reason
//	pannier_publish_duration_seconds                how long tries took
//	pannier_last_publish_successful                 0 or 1, of the newest try
//	pannier_last_publish_success_timestamp_seconds  when the platform last took a card
//	pannier_coalesced_total                         cards that a newer one replaced unsent
//	pannier_outbox_pending                          0 or 1, whether a card waits
//	pannier_outbox_errors_total                     times that the outbox could not be read or written
//	pannier_reconcile_total                         checks of what the platform holds, by result
//	pannier_platform_events_connected               0 or 1, whether the event stream is followed
//	pannier_peers                                   peers, as the platform last told
//
// The results of a check are same, replaced and unreadable. Reading after a push is no check. What the event stream told of
// our own card counts as replaced where there is no read-back.
//
// # What it does not do
//
// It does not register. It sends a heartbeat only with a promotion, and only where it is told to.
//
// # Ownership
//
// Run has a goroutine of its own for the event stream, one for its pings and one for the peers, and waits for all of them.
//
// # Wire
//
// The types in wire.go are the shapes of Molecule's platform. [pannier/publish/molecule/dev] speaks the other
// side of them.
package molecule

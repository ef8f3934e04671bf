// Package molecule is a [pannier/publish/push.Target] for a workspace of a Molecule platform: its wire, what is kept of
// the registered card, reading back, the event stream and the peers. A [Promoter] reports promotions to the same
// platform.
//
// # Answers
//
//	2xx                                     stored, which is read back
//	no connection, timeout, 408, 5xx        [pannier/publish/push.Retry]
//	425, 429                                the same
//	401, 403                                [pannier/publish/push.RetryWithToken]
//	400, 413, 422                           [pannier/publish/push.AwaitChange]
//	307, 308 to the same scheme and host    followed, three times at most
//	any other answer                        [pannier/publish/push.RetrySlowly]
//
// `Retry-After` lengthens each wait, to five minutes at most. Dialing and the TLS handshake may take 5 s each, the head
// of the answer 10 s, everything together 15 s; 64 KiB of the body are read. A request in flight has 2 s when its
// context ends. Proxies are those of the environment; a configured proxy is never bypassed, even if its variable is not
// a URL. The CA file is checked before each request and read again when it has changed; while it cannot be used the
// authorities before it count, or if there are none nothing is sent (ca_file_unreadable). A connection of HTTP/2 that
// is silent for 10 s is pinged, and closed without an answer after 5 s.
//
// # What others write
//
// An agent registers keys that pannier does not write, and its url. A push replaces the whole card, so the registered
// card is read before, and these keys are sent along. With [Options.CardMaxBytes] the largest of them are dropped if
// the card becomes larger than that (card_foreign_keys_dropped). A push that was accepted before anything could be read
// may have removed them, which is reported for an hour (card_pushed_unread). All digests are those of our own card.
//
// The platform holds our card if the registered one has each of our top-level keys with an equal value; the order of
// keys and further keys do not count. A card in a text is that card. Of a description of a workspace 64 MiB are read,
// and of the card in it 4 MiB beside our own; a larger one is not ours.
//
// # Events
//
// The stream (`GET /ws`) reports who registers a card over ours. It has no numbers, no replay and no pings: pannier
// sends a ping every 30 s, and reads everything after each connection. Of an event of more than 1 MiB beside our own
// card, only type and workspace are read.
//
// # Peers
//
// What peers publish is not trusted, and a peer that is malformed costs no other one its place. A peer has a card of at
// most 256 KiB and 64 levels, without NUL and halves of surrogate pairs; a key with a NUL is dropped. There are at most
// 1000 peers, with 8 MiB of cards together, of which the largest are dropped first. The list is read as it comes; one
// of more than 64 MiB is refused.
//
// # Secrets
//
// The token is read before each request and not kept. Neither it, nor the value of an extra header, nor the credentials
// of a proxy is in a log, an error, an event or health, even if the platform or a proxy repeats it; addresses are
// reported without credentials and query.
//
// # What it does not do
//
// It does not register, and sends no heartbeat.
//
// The types in wire.go are shared with the other side, [pannier/publish/molecule/dev].
package molecule

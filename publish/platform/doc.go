// Package platform keeps a platform's registry endpoint holding the newest agent card.
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
//	401, 403                                once more at once with the token read anew, then about every 30 s
//	400, 413, 422                           not again before the card changes
//	307, 308 to the same scheme and host    followed, three times at most
//	any other answer                        again, about every 30 s
//
// `Retry-After` lengthens each of these waits, to five minutes at most. Dialing and the TLS handshake may take 5 s each,
// the head of the answer 10 s, everything together 15 s; 64 KiB of the body are read. Proxies are those of the
// environment. When the context of Run ends, the request in flight has 2 s to finish and no other one starts.
//
// # Secrets
//
// The token is asked for before each try and not kept. Neither it nor the value of an extra header is ever told in a log,
// an error, an event or the health, also where the platform repeats it in an answer; addresses are told without
// credentials and query.
//
// # Metrics
//
// Each has the label platform, the host of the platform, and exists from the start:
//
//	pannier_publish_total                           tries
//	pannier_publish_failed_total                    tries that failed, by reason
//	pannier_publish_duration_seconds                how long tries took
//	pannier_last_publish_successful                 0 or 1, of the newest try
//	pannier_last_publish_success_timestamp_seconds  when the platform last took a card
//	pannier_coalesced_total                         cards that a newer one replaced unsent
//	pannier_outbox_pending                          0 or 1, whether a card waits
//
// # What it does not do
//
// It does not register, send heartbeats, read the card back or remember cards across a restart: a process that starts
// offers the card of its first snapshot, and that is pushed.
//
// # Wire
//
// The types in wire.go are the shapes of Molecule's platform. [pannier/publish/platform/devplatform] speaks the other
// side of them.
package platform

// Package push keeps a target holding the newest agent card. It knows no wire: a [Target] sends one card, and may also
// show what it holds, report changes and list peers.
//
// [Publisher.Offer] sets the desired card and never blocks. [Publisher.Run] pushes it until the target has it. A push
// is always the whole card, so that a lost one is repaired by the next, and only the newest card is worth sending.
//
// # Order
//
// One request is in flight at a time. A card that is offered meanwhile is sent next; one that is offered during a
// backoff replaces the card that waits and is sent at once, except while the target itself asked for the wait. A retry
// is of the newest card, also if that is not offered yet (Options.Newest). A card that the target is known to hold is not
// pushed. After a request that ended without an answer, what the target holds
// is not known, and then even the last acknowledged card is pushed again.
//
// # Failures
//
//	Retry           after a random part of 100 ms, doubled each time up to 30 s; 2 s if nothing listens
//	RetryWithToken  once at once, then about every 30 s, or within a second after the credentials changed
//	RetrySlowly     about every 30 s
//	AwaitChange     not before the card changes, but about every 15 minutes, about 30 s after an event of the target,
//	                and on [Publisher.Retry], two seconds apart at least
//
// The time that a target asks for lengthens each wait. While a [Throttler] asks for fewer requests, and for up to 60 s
// after it, only pushes and the readings before them are made.
//
// # Outbox
//
// The outbox protects from a restart while the target is away: the newest card is written in the background, replaced
// as a whole and synced, and pushed after a restart unless a newer one is offered before. A card that the target
// accepted is not pushed again; with read-back the target is asked first whether it still holds it. A file that is
// damaged is ignored. If the disk fails, cards are in memory only, and a log line and a metric say so.
//
// # Read-back
//
// A success proves little: a platform may report it for a workspace that it does not know, and an agent that starts
// registers its own card over ours. So the target is read before a push, unless that was done in the last five seconds
// and no event came since; after each push, unless an event shows the card within half a second; and about every five
// minutes. The first card counts as stored if the target has the workspace, and is read once the events are followed. A
// card that was accepted and is not shown is looked for once more after two seconds, since replicas lag, and then is a
// failure (not_stored). A first push waits up to 30 s for a first reading. A card that the reading before a push shows
// already is not pushed, unless another one was pushed in between.
//
// If the target cannot be read, that delays no later card and changes no success: health says so
// (read_back_unavailable), and events are believed as they are without read-back.
//
// # Events
//
// An event that the target holds another card has it read and pushed again: the first at once, those that follow two
// seconds apart at least. If another writer replaces our card again and again, each answer comes later, and health says
// so from the fourth time on (card_contested). A connection that ends is made again as after [Retry], [RetrySlowly] or
// [NoService]. The first is made up to 2 s after the first attempt to push a card. While a newer card is about to be
// offered (Options.Settling), a replaced one is not pushed again, for up to 3 s.
//
// # Peers
//
// The list is read up to 60 s after the start, or when [Publisher.Peers] is called, after each further connection, 250
// ms and a random part of 2 s after an event that it cannot be updated by, ten seconds apart at least, and about every
// five minutes. While it cannot be read the last one stays (peers_stale).
package push

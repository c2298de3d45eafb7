import Broker
import Consumer
import JSON
import Replay
import Time

/// What was read, for a report.
struct SourceView: Sendable {
    /// Of what was read; nil for files and for an empty ledger.
    let offsets: ClosedRange<Int64>?
    /// When its first message was received, if that is known.
    let begins: Timestamp?
    /// Whether everything that ever came in is in it: for files nobody knows, and what they lack is theirs to answer for.
    let isWhole: Bool
    /// Whether reading began behind the oldest message.
    let startsLate: Bool
    /// Whether retention removed what came before its oldest message.
    let isCut: Bool
    /// Offsets that retention removed while they were read.
    let lost: [ClosedRange<Int64>]
    let isLedger: Bool

    /// `since` is the time from which was read, if one was named.
    init(_ source: ReplaySession.Source, since: Timestamp?) async {
        guard case .ledger(let ledger) = source else {
            (offsets, begins, isWhole, startsLate, isCut, lost, isLedger) = (nil, nil, true, false, false, [], false)
            return
        }
        let (first, last) = (await ledger.firstOffset, await ledger.lastOffset)
        let bounds = await ledger.bounds
        offsets = first <= last ? first...last : nil
        begins = bounds.flatMap { bounds in
            bounds.oldest.headers[MessageHeader.receivedAt].flatMap { Timestamp(rfc3339: $0) }
                ?? bounds.oldest.timestamp
        }
        lost = await ledger.lost
        startsLate = since != nil || first > (bounds?.oldest.offset ?? 0)
        isCut = bounds?.isWhole == false
        isWhole = !isCut && !startsLate && lost.isEmpty
        isLedger = true
    }

    var text: String {
        guard isLedger else { return "Read from files." }
        guard let offsets else { return "The ledger is empty." }
        let range = "Read the ledger from offset \(offsets.lowerBound) to \(offsets.upperBound)"
        let since = begins.map { ", received since \($0.rfc3339)" } ?? ""
        var sentence =
            isWhole
            ? "\(range)\(since): all that ever came in."
            : startsLate
                ? "\(range), not from its beginning."
                : "\(range)\(since); what came before was removed by its retention (broker.ledgerMaximumBytes, "
                    + "broker.ledgerMaximumAge)."
        for gap in lost {
            sentence +=
                " Offsets \(gap.lowerBound) to \(gap.upperBound) were removed by retention before they could be read."
        }
        return sentence
    }

    func write(to json: inout JSONWriter) {
        json.object("source") { json in
            json.member("kind", isLedger ? "ledger" : "files")
            json.member("from", offsets?.lowerBound)
            json.member("to", offsets?.upperBound)
            json.member("begins", begins?.rfc3339)
            if isLedger { json.member("whole", isWhole) }
            json.array("lost", lost) { json, gap in
                json.beginObject()
                json.member("from", gap.lowerBound)
                json.member("to", gap.upperBound)
                json.endObject()
            }
        }
    }
}

import JSON
import Replay
import Time

/// What was read, for a report.
struct SourceView: Sendable {
    /// Nil for files.
    private let extent: LedgerExtent?
    private let startsBehind: Bool

    /// `since` is the time from which was read, if one was named.
    init(_ source: ReplaySession.Source, since: Timestamp?) async {
        extent =
            switch source {
            case .files: nil
            case .ledger(let ledger): await ledger.extent
            }
        startsBehind = since != nil
    }

    /// Of what was read; nil where there are none.
    var offsets: ClosedRange<Int64>? {
        if case .offsets(let offsets) = extent?.range { offsets } else { nil }
    }
    /// When its first message was received, if that is known.
    var begins: Timestamp? { extent?.begins }
    /// Whether everything that ever came in is in it: for files nobody knows, and what they lack is theirs to answer for.
    var isWhole: Bool { extent.map { !isCut && !startsLate && $0.lost.isEmpty } ?? true }
    /// Whether reading began behind the oldest message.
    var startsLate: Bool { extent.map { startsBehind || $0.startsLate } ?? false }

    /// Whether retention removed what came before its oldest message.
    var isCut: Bool { extent?.isCut ?? false }

    private var bounds: (from: String, to: String)? {
        switch extent?.range {
        case .offsets(let offsets): ("\(offsets.lowerBound)", "\(offsets.upperBound)")
        case .entries(let first, let last): (first, last)
        case nil: nil
        }
    }

    var text: String {
        guard let extent else { return "Read from files." }
        guard let bounds else { return "The ledger is empty." }
        let range = "Read the ledger from \(offsets == nil ? "entry" : "offset") \(bounds.from) to \(bounds.to)"
        let since = begins.map { ", received since \($0.rfc3339)" } ?? ""
        let limits =
            offsets == nil
            ? "embedded.ledgerMaximumBytes, embedded.ledgerMaximumAge"
            : "broker.ledgerMaximumBytes, broker.ledgerMaximumAge"
        var sentence =
            isWhole
            ? "\(range)\(since): all that ever came in."
            : startsLate
                ? "\(range), not from its beginning."
                : "\(range)\(since); what came before was removed by its retention (\(limits))."
        for gap in extent.lost {
            sentence +=
                " Offsets \(gap.lowerBound) to \(gap.upperBound) were removed by retention before they could be read."
        }
        return sentence
    }

    func write(to json: inout JSONWriter) {
        json.object("source") { json in
            json.member("kind", extent == nil ? "files" : "ledger")
            if offsets == nil {
                json.member("from", bounds?.from)
                json.member("to", bounds?.to)
            } else {
                json.member("from", offsets?.lowerBound)
                json.member("to", offsets?.upperBound)
            }
            json.member("begins", begins?.rfc3339)
            if extent != nil { json.member("whole", isWhole) }
            json.array("lost", extent?.lost ?? []) { json, gap in
                json.beginObject()
                json.member("from", gap.lowerBound)
                json.member("to", gap.upperBound)
                json.endObject()
            }
        }
    }
}

package import JSON
package import Time

/// How far a backfill of the notification history is: which parts of the time are done, and what came of it.
///
/// The time is cut into windows of one length. A window that is begun is kept with the place where its list was left, so
/// whoever goes on asks for the next page and not for the first.
package struct BackfillProgress: Sendable, Hashable {
    /// What Apple listed, notification by notification.
    package struct Figures: NamedCounts {
        package var pages: UInt64 = 0
        /// By Apple's account; one at the very border of two windows counts twice.
        package var sent: UInt64 = 0
        /// Of these, those which Apple could not deliver when it tried last.
        package var undelivered: UInt64 = 0
        /// No consumer had settled these.
        package var new: UInt64 = 0
        /// A consumer had settled these.
        package var known: UInt64 = 0
        /// Older than what is remembered, so it cannot be said.
        package var beyondMemory: UInt64 = 0
        /// Not signed by Apple, or without a body: counted and left out.
        package var unusable: UInt64 = 0
        package init() {}

        package static var all: Table {
            [
                ("pages", \.pages), ("sentByApple", \.sent), ("undelivered", \.undelivered), ("new", \.new),
                ("known", \.known), ("beyondMemory", \.beyondMemory), ("unusable", \.unusable),
            ]
        }
    }

    package struct Window: Sendable, Hashable {
        package let number: Int
        /// Both ends belong to it.
        package let from: Timestamp
        package let until: Timestamp
    }

    package let from: Timestamp
    package let until: Timestamp
    package let windowMilliseconds: Int64
    /// Windows below this are begun or done.
    package private(set) var begun = 0
    /// Those that are begun and not done: where each was left, as a `PagePosition`; empty before the first page.
    package private(set) var open: [Int: String] = [:]
    package var figures = Figures()

    package static let longestWindow = Duration.seconds(86_400)
    package static let shortestWindow = Duration.seconds(600)

    /// `lanes` windows are to be worked on at a time: so that all have work, the time is cut into some more.
    package init(from: Timestamp, until: Timestamp, lanes: Int = 1) {
        self.from = from
        self.until = max(from, until)
        let parts = Int64(max(1, min(lanes, 64)) * 4)
        let length = (self.until.milliseconds &- from.milliseconds) / parts
        windowMilliseconds = min(
            max(length, Int64(Self.shortestWindow / .milliseconds(1))), Int64(Self.longestWindow / .milliseconds(1)))
    }

    package var windowCount: Int {
        let time = until.milliseconds &- from.milliseconds
        return max(1, Int(clamping: (time &+ windowMilliseconds &- 1) / windowMilliseconds))
    }

    package var isDone: Bool { begun >= windowCount && open.isEmpty }
    package var fraction: Double { Double(begun - open.count) / Double(windowCount) }

    /// What to do next that is not among `inHand`: first what was left, then what nobody has begun.
    package mutating func take(besides inHand: Set<Int>) -> (window: Window, position: String)? {
        if let left = open.keys.filter({ !inHand.contains($0) }).min() { return (window(left), open[left] ?? "") }
        guard begun < windowCount else { return nil }
        defer { begun += 1 }
        open[begun] = ""
        return (window(begun), "")
    }

    /// The window was read so far; nil: to its end.
    package mutating func reached(_ position: String?, of window: Window) { open[window.number] = position }

    private func window(_ number: Int) -> Window {
        let start = from.milliseconds &+ Int64(number) &* windowMilliseconds
        let end = number + 1 >= windowCount ? until.milliseconds : start &+ windowMilliseconds
        return Window(
            number: number, from: Timestamp(milliseconds: start), until: Timestamp(milliseconds: end))
    }
}

extension BackfillProgress: StoredDocument {
    package func write(to json: inout JSONWriter) {
        json.member("from", from.rfc3339)
        json.member("until", until.rfc3339)
        json.member("windowMilliseconds", windowMilliseconds)
        json.member("windows", windowCount)
        json.member("begun", begun)
        json.array("open", open.sorted { $0.key < $1.key }) { json, entry in
            json.beginObject()
            json.member("window", entry.key)
            json.member("position", entry.value)
            json.endObject()
        }
        json.object("figures") { figures.write(to: &$0) }
    }

    package init?(_ value: JSONValue) {
        guard let from = value.instant("from"), let until = value.instant("until"), from <= until,
            let length = value["windowMilliseconds"]?.int64, length > 0
        else { return nil }
        self.from = from
        self.until = until
        windowMilliseconds = length
        begun = min(max(0, Int(clamping: value["begun"]?.int64 ?? 0)), windowCount)
        for entry in value["open"]?.array ?? [] {
            guard let number = entry["window"]?.int64.map({ Int(clamping: $0) }), 0..<begun ~= number else { continue }
            open[number] = entry["position"]?.string ?? ""
        }
        figures = Figures(value["figures"])
    }
}

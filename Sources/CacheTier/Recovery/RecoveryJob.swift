package import JSON
package import Time

/// Something that was missed and is to be made up for: kept in Redis until it is done, so that it outlives every process.
///
/// | phase | what is done |
/// |---|---|
/// | `waiting` | nothing yet: Apple is still away. Whoever notices that says so again and again (`darkAt`) |
/// | `history` | the notification history is fetched, and what is new goes through the line |
/// | `lineages` | Apple is asked about what is in `hold` or waits for verification |
/// | `done` | nothing; kept for the operator, the last few of them |
package struct RecoveryJob: Sendable, Hashable {
    package enum Cause: String, Sendable {
        case outage, command
        /// The app was configured, or got its key: nothing of its history was ever read.
        case newApp
        /// A short stretch of the history, read every few minutes (`BackfillCheck`).
        case regular
    }
    package enum Phase: String, Sendable, Comparable {
        case waiting, history, lineages, done
        private var rank: Int { [.waiting, .history, .lineages, .done].firstIndex(of: self) ?? 0 }
        package static func < (a: Phase, b: Phase) -> Bool { a.rank < b.rank }
    }

    /// What of the history goes through the line.
    package enum Taking: String, Sendable {
        /// What no consumer has settled, as far as is remembered.
        case missing
        case all
        /// It is only counted.
        case nothing
    }

    /// Lineages that Apple was asked about.
    package struct Settling: NamedCounts {
        package var found: UInt64 = 0
        package var asked: UInt64 = 0
        /// Apple's word leaves no doubt.
        package var settled: UInt64 = 0
        /// Apple answered, and it is still open.
        package var open: UInt64 = 0
        package var failed: UInt64 = 0
        /// News had settled these before Apple was asked.
        package var settledMeanwhile: UInt64 = 0
        package init() {}

        package static var all: Table {
            [
                ("found", \.found), ("asked", \.asked), ("settled", \.settled), ("open", \.open), ("failed", \.failed),
                ("settledMeanwhile", \.settledMeanwhile),
            ]
        }
    }

    package let name: String
    package let cause: Cause
    package var phase: Phase
    package var history: BackfillProgress
    package var taking = Taking.missing
    package var lineages = Settling()
    package let createdAt: Timestamp
    package var updatedAt: Timestamp
    /// When somebody last said that Apple is away.
    package var darkAt: Timestamp?

    package init(name: String, cause: Cause, phase: Phase, history: BackfillProgress, at now: Timestamp) {
        self.name = name
        self.cause = cause
        self.phase = phase
        self.history = history
        createdAt = now
        updatedAt = now
    }

    /// Of everything there is to do, for a line of progress.
    package var fraction: Double {
        switch phase {
        case .waiting: 0
        case .history: history.fraction
        case .lineages, .done: 1
        }
    }
}

extension RecoveryJob: StoredDocument {
    package func write(to json: inout JSONWriter) {
        json.member("name", name)
        json.member("cause", cause.rawValue)
        json.member("phase", phase.rawValue)
        json.member("taking", taking.rawValue)
        json.member("createdAt", createdAt.rfc3339)
        json.member("updatedAt", updatedAt.rfc3339)
        json.member("darkAt", darkAt?.rfc3339)
        json.object("history") { history.write(to: &$0) }
        json.object("lineages") { lineages.write(to: &$0) }
    }

    package init?(_ value: JSONValue) {
        guard let name = value["name"]?.string, let cause = value["cause"]?.string.flatMap(Cause.init),
            let phase = value["phase"]?.string.flatMap(Phase.init),
            let history = value["history"].flatMap({ BackfillProgress($0) }),
            let createdAt = value.instant("createdAt")
        else { return nil }
        self.init(name: name, cause: cause, phase: phase, history: history, at: createdAt)
        taking = value["taking"]?.string.flatMap(Taking.init) ?? .missing
        updatedAt = value.instant("updatedAt") ?? createdAt
        darkAt = value.instant("darkAt")
        lineages = Settling(value["lineages"])
    }
}

package import Entitlements
internal import JSON
internal import Runtime
package import Time

/// A folded state as lines of JSON: one that says where it comes from, then a line for each lineage in the order of the
/// keys.
///
/// Two versions of the program that fold the same messages are compared by these files.
package enum StateFile {
    /// The first line: what was folded, and when answers were made.
    package struct Origin: Sendable, Hashable {
        package var at: Timestamp
        /// The first and the last offset, if it was the ledger.
        package var offsets: ClosedRange<Int64>?
        package var receivedSince: Timestamp?
        package var receivedUntil: Timestamp?
        package var messages: Int
        package var lineages: Int

        package init(
            at instant: Timestamp, offsets: ClosedRange<Int64>?, receivedSince: Timestamp? = nil,
            receivedUntil: Timestamp? = nil, messages: Int, lineages: Int
        ) {
            at = instant
            self.offsets = offsets
            self.receivedSince = receivedSince
            self.receivedUntil = receivedUntil
            self.messages = messages
            self.lineages = lineages
        }

        fileprivate func line() -> [UInt8] {
            var json = JSONWriter()
            json.beginObject()
            json.member("holdfast", "state")
            json.member("version", 1)
            json.member("at", at.rfc3339)
            if let offsets {
                json.member("from", offsets.lowerBound)
                json.member("to", offsets.upperBound)
            }
            if let receivedSince { json.member("receivedSince", receivedSince.rfc3339) }
            if let receivedUntil { json.member("receivedUntil", receivedUntil.rfc3339) }
            json.member("messages", messages)
            json.member("lineages", lineages)
            json.endObject()
            return json.bytes
        }

        fileprivate init?(_ value: JSONValue) {
            guard value["holdfast"]?.string == "state", value["version"]?.int64 == 1,
                let at = value["at"]?.string.flatMap({ Timestamp(rfc3339: $0) })
            else { return nil }
            self.at = at
            if let from = value["from"]?.int64, let to = value["to"]?.int64, from <= to { offsets = from...to }
            receivedSince = value["receivedSince"]?.string.flatMap { Timestamp(rfc3339: $0) }
            receivedUntil = value["receivedUntil"]?.string.flatMap { Timestamp(rfc3339: $0) }
            messages = Int(clamping: value["messages"]?.int64 ?? 0)
            lineages = Int(clamping: value["lineages"]?.int64 ?? 0)
        }
    }

    /// Writes all of a settled fold, whole or not at all.
    package static func write(
        _ fold: Fold, _ origin: Origin, answers: LineageComparison, to path: String
    ) throws(ReplayError) {
        let file = try NewFile(path)
        try ReplayError.file { () throws(SystemError) in try file.write(line: origin.line()) }
        for lineage in fold.sortedLineages {
            guard let record = try fold.record(of: lineage) else { continue }
            var json = JSONWriter(reservingCapacity: 2048)
            json.beginObject()
            json.member("app", lineage.app.rawValue)
            json.member("environment", lineage.environment.rawValue)
            json.member("originalTransactionId", lineage.originalTransactionID)
            json.key("record")
            json.fragment(record.encoded())
            json.key("evaluation")
            EvaluationView.write(answers.evaluation(record), to: &json)
            json.endObject()
            try ReplayError.file { () throws(SystemError) in try file.write(line: json.bytes) }
        }
        try ReplayError.file { () throws(SystemError) in try file.finish() }
    }

    /// Where a state comes from.
    package static func origin(of path: String) throws(ReplayError) -> Origin {
        let file = try ReplayError.file { () throws(SystemError) in try LineFile(path) }
        return try origin(file)
    }

    private static func origin(_ file: LineFile) throws(ReplayError) -> Origin {
        let line = try ReplayError.file { () throws(SystemError) in try file.next() }
        guard let value = try? JSONValue.parse(line ?? []), let origin = Origin(value) else {
            throw .file("\(file.path) is no state that holdfast replay --out wrote")
        }
        return origin
    }

    /// In what a state differs from another.
    package struct Comparison: Sendable {
        package var compared = 0
        package var equal = 0
        package var differs = 0
        package var onlyHere = 0
        package var onlyThere = 0
        /// Of all: those whose answer differs.
        package var answeredDifferently = 0
        /// The first of them.
        package var differences: [Difference] = []

        package var count: Int { differs + onlyHere + onlyThere }
    }

    /// `mine` is the fold's, `theirs` the file's.
    package struct Difference: Sendable, Hashable {
        package let lineage: LineageID
        package let members: [MemberDifference]
        package let evaluation: [MemberDifference]
        /// Nil when both have it.
        package let isOnlyHere: Bool?
    }

    /// Compares a settled fold with the state at `path`, line by line; at most `limit` differences are kept in full.
    package static func compare(
        _ fold: Fold, answers: LineageComparison, with path: String, limit: Int = 100
    ) throws(ReplayError) -> Comparison {
        let file = try ReplayError.file { () throws(SystemError) in try LineFile(path) }
        _ = try origin(file)
        var result = Comparison()
        var there = try next(file)
        func add(_ difference: Difference) {
            result.compared += 1
            guard !difference.members.isEmpty || !difference.evaluation.isEmpty || difference.isOnlyHere != nil else {
                result.equal += 1
                return
            }
            switch difference.isOnlyHere {
            case nil: result.differs += 1
            case true?: result.onlyHere += 1
            case false?: result.onlyThere += 1
            }
            if !difference.evaluation.isEmpty || difference.isOnlyHere != nil { result.answeredDifferently += 1 }
            if result.differences.count < limit { result.differences.append(difference) }
        }
        for lineage in fold.sortedLineages {
            while let other = there, other.lineage.isOrderedBefore(lineage) {
                add(Difference(lineage: other.lineage, members: [], evaluation: [], isOnlyHere: false))
                there = try next(file)
            }
            guard let other = there, other.lineage == lineage else {
                add(Difference(lineage: lineage, members: [], evaluation: [], isOnlyHere: true))
                continue
            }
            guard let record = try fold.record(of: lineage) else { continue }
            do throws(JSONError) {
                add(
                    Difference(
                        lineage: lineage,
                        members: MemberDifference.between(try JSONValue.parse(record.encoded()), other.record),
                        evaluation: EvaluationView.differences(
                            try EvaluationView.value(answers.evaluation(record)), other.evaluation), isOnlyHere: nil))
            } catch { throw .unreadableRecord("\(lineage.originalTransactionID): \(error)") }
            there = try next(file)
        }
        while let other = there {
            add(Difference(lineage: other.lineage, members: [], evaluation: [], isOnlyHere: false))
            there = try next(file)
        }
        return result
    }

    private struct Entry {
        let lineage: LineageID
        let record: JSONValue
        let evaluation: JSONValue
    }

    private static func next(_ file: LineFile) throws(ReplayError) -> Entry? {
        guard let line = try ReplayError.file({ () throws(SystemError) in try file.next() }) else { return nil }
        guard let value = try? JSONValue.parse(line), let app = value["app"]?.string,
            let environment = value["environment"]?.string.flatMap({ StoreEnvironment(rawValue: $0) }),
            let id = value["originalTransactionId"]?.string, let record = value["record"],
            let evaluation = value["evaluation"]
        else { throw .file("\(file.path), line \(file.lineNumber): no lineage of a state") }
        return Entry(
            lineage: LineageID(app: AppID(app), environment: environment, originalTransactionID: id), record: record,
            evaluation: evaluation)
    }
}

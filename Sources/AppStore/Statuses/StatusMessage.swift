package import Entitlements
internal import JSON
package import Time

/// What Apple answered when it was asked about a lineage, as it goes through the broker and into the ledger: raw, with why
/// it was asked, when, and how long the call took.
///
/// What Apple signed in it proves itself, and whoever reads the message verifies it again. Apple's `status`, which is not
/// signed, is our own word that Apple said so over TLS: it counts because the message came by our own exchange.
///
///     {"version": 1, "environment": "…", "originalTransactionId": "…", "call": "statuses", "transactionId": "…",
///      "purpose": "refresh", "askedAt": 1764000000000, "tookMilliseconds": 120, "answer": "{…}"}
package struct StatusMessage: Sendable, Hashable {
    /// The value of the header `kind` (`PurchaseMessage.kindHeader`) that such a message carries.
    package static let kind = "statuses"
    package static let version: Int64 = 1
    /// Some fifty subscriptions of one Apple account; nobody has a tenth of that.
    package static let maximumAnswerBytes = 1 << 20
    private static let maximumIDBytes = 256
    private static let maximumTook = Duration.seconds(3600)

    /// Why Apple was asked.
    package enum Purpose: String, Sendable, Hashable, CaseIterable {
        /// Somebody who reads wanted to know.
        case refresh
        /// Apple's API or our own parts had been away.
        case recovery
        /// It was due.
        case reconcile
    }

    package let question: StatusQuestion
    package let purpose: Purpose
    package let askedAt: Timestamp
    /// In milliseconds; with the time in which the call waited for its turn.
    package let took: Duration
    /// Apple's answer as it came.
    package let answer: [UInt8]

    package init(
        _ question: StatusQuestion, for purpose: Purpose, askedAt: Timestamp, took: Duration, answer: [UInt8]
    ) {
        self.question = question
        self.purpose = purpose
        self.askedAt = askedAt
        let milliseconds = (min(max(took, .zero), Self.maximumTook) / .milliseconds(1)).rounded()
        self.took = .milliseconds(Int64(milliseconds))
        self.answer = answer
    }

    /// When Apple's answer was there: as of then it is judged, and it took effect.
    package var answeredAt: Timestamp { askedAt + took }

    /// The same for the same answer to the same question.
    package var id: String { "statuses-" + String(SHA256.hexadecimal(encoded()).prefix(32)) }

    // MARK: JSON

    package func encoded() -> [UInt8] {
        var json = JSONWriter(reservingCapacity: answer.count + answer.count / 8 + 512)
        json.beginObject()
        json.member("version", Self.version)
        json.member("environment", question.lineage.environment.rawValue)
        json.member("originalTransactionId", question.lineage.originalTransactionID)
        json.member("call", question.call.rawValue)
        json.member("transactionId", question.transactionID)
        json.member("purpose", purpose.rawValue)
        json.member("askedAt", askedAt.milliseconds)
        json.member("tookMilliseconds", Int64(took / .milliseconds(1)))
        json.member("answer", String(decoding: answer, as: UTF8.self))
        json.endObject()
        return json.bytes
    }

    /// Why a body is no such message.
    package struct Unreadable: Error, Sendable, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// Reads what `encoded` wrote, and nothing else. `app` is what the message's header says.
    package init(decoding body: [UInt8], app: AppID) throws(Unreadable) {
        let value: JSONValue
        do { value = try JSONValue.parse(body, maximumDepth: 2) } catch {
            throw Unreadable(description: "it is not JSON: \(error)")
        }
        guard let version = value["version"]?.int64 else { throw Unreadable(description: "it names no version") }
        guard version == Self.version else {
            throw Unreadable(description: "it is of version \(version), and this program knows version \(Self.version)")
        }
        guard let environment = value["environment"]?.string.flatMap(StoreEnvironment.init),
            let call = value["call"]?.string.flatMap(StatusQuestion.Call.init),
            let purpose = value["purpose"]?.string.flatMap(Purpose.init)
        else { throw Unreadable(description: "environment, call or purpose is missing or not known") }
        guard let askedAt = value["askedAt"]?.int64, let took = value["tookMilliseconds"]?.int64,
            let longest = Optional(Int64(Self.maximumTook / .milliseconds(1))), (0...longest).contains(took)
        else { throw Unreadable(description: "askedAt or tookMilliseconds is missing or out of bounds") }
        guard let answer = value["answer"]?.string else { throw Unreadable(description: "answer is missing") }
        guard answer.utf8.count <= Self.maximumAnswerBytes else {
            throw Unreadable(description: "answer has more than \(Self.maximumAnswerBytes) bytes")
        }
        question = StatusQuestion(
            lineage: LineageID(
                app: app, environment: environment,
                originalTransactionID: try Self.id("originalTransactionId", in: value)),
            call: call, transactionID: try Self.id("transactionId", in: value))
        self.purpose = purpose
        self.askedAt = Timestamp(milliseconds: askedAt)
        self.took = .milliseconds(took)
        self.answer = Array(answer.utf8)
        guard encoded() == body else { throw Unreadable(description: "it has more in it than was written") }
    }

    private static func id(_ name: String, in value: JSONValue) throws(Unreadable) -> String {
        guard let text = value[name]?.string, (1...maximumIDBytes).contains(text.utf8.count) else {
            throw Unreadable(description: "\(name) is missing or too long")
        }
        return text
    }
}

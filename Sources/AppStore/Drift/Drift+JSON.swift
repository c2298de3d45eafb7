package import Entitlements
package import JSON
import Time

extension Drift {
    /// As it is kept, told and shown.
    package func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("environment", lineage.environment.rawValue)
        json.member("originalTransactionId", lineage.originalTransactionID)
        json.member("transactionId", transactionID)
        json.member("purpose", purpose.rawValue)
        json.member("foundAt", foundAt.rfc3339)
        json.member("before", before?.rawValue)
        json.member("after", after?.rawValue)
        json.array("differences", differences) { json, difference in
            json.beginObject()
            difference.write(to: &json)
            json.endObject()
        }
    }

    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        write(to: &json)
        json.endObject()
        return json.bytes
    }

    /// Nil for what another version wrote in another form.
    package init?(_ bytes: [UInt8], app: AppID) {
        guard let value = try? JSONValue.parse(bytes, maximumDepth: 8), let id = value["id"]?.string,
            let environment = value["environment"]?.string.flatMap(StoreEnvironment.init),
            let original = value["originalTransactionId"]?.string,
            let transaction = value["transactionId"]?.string,
            let purpose = value["purpose"]?.string.flatMap(StatusMessage.Purpose.init),
            let foundAt = value["foundAt"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let differences = value["differences"]?.array
        else { return nil }
        self.init(
            id: id, lineage: LineageID(app: app, environment: environment, originalTransactionID: original),
            transactionID: transaction, purpose: purpose, foundAt: foundAt,
            differences: differences.compactMap(Difference.init),
            before: value["before"]?.string.flatMap(LineageState.init),
            after: value["after"]?.string.flatMap(LineageState.init))
    }
}

extension Drift.Difference {
    package func write(to json: inout JSONWriter) {
        json.member("field", field.rawValue)
        json.member("ours", ours)
        json.member("apples", apples)
        json.array("tellers", tellers) { $0.string($1.rawValue) }
        json.member("since", since?.rfc3339)
        json.member("cause", cause?.rawValue)
        json.member("notificationUUID", notificationUUID)
    }

    fileprivate init?(_ value: JSONValue) {
        guard let field = value["field"]?.string.flatMap(Drift.Field.init) else { return nil }
        self.init(
            field, ours: value["ours"]?.string, apples: value["apples"]?.string,
            tellers: (value["tellers"]?.array ?? []).compactMap { $0.string.flatMap(NotificationType.init) },
            since: value["since"]?.string.flatMap { Timestamp(rfc3339: $0) },
            cause: value["cause"]?.string.flatMap(Drift.Cause.init),
            notificationUUID: value["notificationUUID"]?.string)
    }
}

package import Entitlements
internal import JSON
internal import Runtime

/// Where a list that comes in pages was left: the call with all its parameters, and the token of the next page. As
/// text it survives the process, and it goes on in another.
package struct PagePosition: Sendable, Hashable {
    package let bundleID: String
    package let environment: StoreEnvironment
    /// Without the token.
    private let first: ServerAPIRequest
    private var token: String?
    package private(set) var pages = 0
    package private(set) var isFinished = false

    // Brent's way of finding a circle: one token is remembered, and replaced by the current one after 1, 2, 4, 8…
    // pages. In a circle of any length it comes again.
    private var remembered: String?
    private var steps = 0
    private var span = 1

    package var endpoint: ServerAPIEndpoint { first.endpoint }

    init(_ request: ServerAPIRequest, bundleID: String, environment: StoreEnvironment) throws(ServerAPIFailure) {
        guard let key = request.endpoint.pageKey else {
            throw ServerAPIFailure(.invalidRequest, request.endpoint, "\(request.endpoint.name) has one page only")
        }
        token = request.value(key)
        first = try ServerAPIRequest(request.endpoint, request.values.filter { $0.name != key })
        self.bundleID = bundleID
        self.environment = environment
    }

    /// The call for the next page.
    func request() throws(ServerAPIFailure) -> ServerAPIRequest {
        guard let token, let key = endpoint.pageKey else { return first }
        return try first.setting(key, to: token)
    }

    /// The position after a page that said this.
    func following(hasMore: Bool?, token next: String?) throws(ServerAPIFailure) -> PagePosition {
        var position = self
        position.pages &+= 1
        guard let hasMore else {
            throw ServerAPIFailure(.unreadable, endpoint, "the answer does not say whether there is more (hasMore)")
        }
        guard hasMore else {
            position.isFinished = true
            return position
        }
        guard let next, !next.isEmpty else {
            throw ServerAPIFailure(.unreadable, endpoint, "there is more, but the answer does not say where")
        }
        guard let key = endpoint.pageKey, let field = endpoint.fields.first(where: { $0.name == key }),
            field.normalised(next) == next, next.unicodeScalars.allSatisfy(\.isPrintable)
        else {
            throw ServerAPIFailure(
                .unreadable, endpoint,
                "there is more, but the token that says where is none: \(next.utf8.count) bytes that begin \(quoted(next))"
            )
        }
        guard next != token, next != remembered else {
            throw ServerAPIFailure(
                .unreadable, endpoint, "the pages lead in a circle: after \(pages) pages the same token came again",
                isRetryable: false)
        }
        position.token = next
        position.steps &+= 1
        if position.steps >= span {
            position.remembered = next
            position.steps = 0
            position.span = span &* 2
        }
        return position
    }

    // MARK: As text

    /// One line of JSON.
    package var text: String {
        var json = JSONWriter()
        json.beginObject()
        json.member("position", Self.version)
        json.member("bundleId", bundleID)
        json.member("environment", environment.rawValue)
        json.member("endpoint", endpoint.rawValue)
        json.array("values", first.values) { json, value in
            json.beginArray()
            json.string(value.name)
            json.string(value.text)
            json.endArray()
        }
        json.member("token", token)
        json.member("pages", pages)
        json.member("finished", isFinished)
        json.member("remembered", remembered)
        json.member("steps", steps)
        json.member("span", span)
        json.endObject()
        return json.text
    }

    /// Reads what `text` wrote, and checks it as if somebody had typed it.
    package init(text: String) throws(ServerAPIFailure) {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue.parse(Array(text.utf8), maximumDepth: 8) } catch {
            throw ServerAPIFailure(.invalidRequest, nil, "this is no position: \(error)")
        }
        guard value["position"]?.int64 == Self.version, let bundleID = value["bundleId"]?.string,
            let environment = value["environment"]?.string.flatMap(StoreEnvironment.init(rawValue:)),
            let endpoint = value["endpoint"]?.string.flatMap(ServerAPIEndpoint.init(rawValue:)),
            let values = value["values"]?.array
        else { throw ServerAPIFailure(.invalidRequest, nil, "this is no position of this version") }
        var given: [ServerAPIRequest.Value] = []
        for pair in values {
            guard let texts = pair.array?.compactMap(\.string), texts.count == 2 else {
                throw ServerAPIFailure(
                    .invalidRequest, endpoint, "the position has a parameter that is no pair of texts")
            }
            given.append(ServerAPIRequest.Value(texts[0], texts[1]))
        }
        try self.init(try ServerAPIRequest(endpoint, given), bundleID: bundleID, environment: environment)
        token = value["token"]?.string
        pages = Int(clamping: max(0, value["pages"]?.int64 ?? 0))
        isFinished = value["finished"]?.bool ?? false
        remembered = value["remembered"]?.string
        steps = Int(clamping: max(0, value["steps"]?.int64 ?? 0))
        span = Int(clamping: max(1, value["span"]?.int64 ?? 1))
    }

    private static let version: Int64 = 1
}

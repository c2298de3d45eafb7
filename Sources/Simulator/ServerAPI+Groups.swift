internal import AppStore
internal import HTTP
internal import JSON
internal import Time

/// Groups and seats, in the sandbox only.
extension Simulator {
    /// Who is in no group is told of a placeholder, as Apple's sandbox does.
    func groups(of id: String) throws(APIError) -> HTTPResponse {
        tick()
        let found = store.groups(of: try store.customer(id))
        return apiObject { json in
            json.key("groups")
            json.beginArray()
            for group in found {
                json.beginObject()
                json.member("groupId", group)
                json.member("groupType", "CONSUMER")
                json.endObject()
            }
            if found.isEmpty {
                json.beginObject()
                json.member("groupId", Store.placeholderGroup)
                json.member("groupType", "ORGANIZATION")
                json.array("roles", [("example.productId.one", "ADMIN"), ("example.productId.two", "NONE")]) {
                    json, role in
                    json.beginObject()
                    json.member("productId", role.0)
                    json.member("role", role.1)
                    json.endObject()
                }
                json.endObject()
            }
            json.endArray()
        }
    }

    func groupMembers(_ group: String, _ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        tick()
        let members = try store.members(ofGroup: group)
        var limit = 100
        if !request.head.queryValues("limit").isEmpty {
            guard let asked = request.head.queryValue("limit").flatMap({ Int($0) }), (1...100).contains(asked) else {
                throw .invalidLimit
            }
            limit = asked
        }
        var start = 0
        if !request.head.queryValues("paginationToken").isEmpty {
            guard let text = request.head.queryValue("paginationToken"), let bytes = Base64URL.decode(text),
                let plain = String(validating: bytes, as: UTF8.self), plain.hasPrefix("\(group):"),
                let after = plain.split(separator: ":").last.flatMap({ Int($0) }), after >= 0
            else { throw .invalidPaginationToken }
            start = after
        }
        let page = Array(members.dropFirst(start).prefix(limit))
        let hasMore = start + page.count < members.count
        return apiObject { json in
            json.array("members", page) { json, member in
                json.beginObject()
                json.member("appTransactionId", member)
                json.endObject()
            }
            if hasMore {
                json.member("paginationToken", Base64URL.encode(Array("\(group):\(start + page.count)".utf8)))
            }
            json.member("hasMore", hasMore)
        }
    }

    func seatInfo(_ id: String) throws(APIError) -> HTTPResponse {
        let now = tick()
        let info = try store.seatInfo(id, at: now)
        return apiObject { json in
            json.member("totalSeatCount", info.total)
            json.member("availableSeatCount", info.available)
            json.array("assignedSeatClaimIds", info.claims) { $0.string($1) }
        }
    }

    func claimSeat(_ id: String, _ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        let body = try request.apiBody()
        let now = tick()
        let claim = try store.claimSeat(
            id, requestIdentifier: body["requestIdentifier"]?.string ?? "", for: body["appTransactionId"]?.string,
            at: now)
        return apiObject { $0.member("seatClaimId", claim) }
    }

    func unclaimSeat(_ id: String, _ claim: String) throws(APIError) -> HTTPResponse {
        tick()
        try store.unclaimSeat(id, claim)
        return HTTPResponse(status: 200)
    }

    func associateSeat(_ id: String, _ claim: String, _ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        let body = try request.apiBody()
        tick()
        try store.associateSeat(id, claim, with: body["appTransactionId"]?.string ?? "")
        return HTTPResponse(status: 200)
    }
}

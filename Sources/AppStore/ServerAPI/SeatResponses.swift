/// The groups of a multiseat purchase.
package struct GroupsResponse: ServerAPIResponse {
    package struct Group: Sendable {
        package let groupID: String?
        /// `ORGANIZATION`, `CONSUMER` or a word to come.
        package let groupType: String?
        package let roles: [Role]
    }

    package struct Role: Sendable {
        package let productID: String?
        /// `NONE`, `ADMIN` or a word to come.
        package let role: String?
    }

    package let groups: [Group]
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        groups = fields.objects("groups") { fields in
            Group(
                groupID: fields.string("groupId"), groupType: fields.string("groupType"),
                roles: fields.objects("roles") {
                    Role(productID: $0.string("productId"), role: $0.string("role"))
                })
        }
        warnings = fields.warnings
    }
}

package struct GroupMembersResponse: ServerAPIPage {
    package let appTransactionIDs: [String]
    package let paginationToken: String?
    package let hasMore: Bool?
    package let warnings: [PayloadWarning]
    package var nextToken: String? { paginationToken }

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        appTransactionIDs = fields.objects("members") { $0.string("appTransactionId") }.compactMap { $0 }
        paginationToken = fields.string("paginationToken")
        hasMore = fields.bool("hasMore")
        warnings = fields.warnings
    }
}

package struct ClaimSeatResponse: ServerAPIResponse {
    package let seatClaimID: String
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) throws(MissingMember) {
        var fields = answer.fields
        seatClaimID = try fields.string("seatClaimId").orMissing("seatClaimId")
        warnings = fields.warnings
    }
}

package struct SeatsResponse: ServerAPIResponse {
    package let totalSeatCount: Int64?
    package let availableSeatCount: Int64?
    package let assignedSeatClaimIDs: [String]
    package let warnings: [PayloadWarning]

    package init(_ answer: ServerAPIAnswer) {
        var fields = answer.fields
        totalSeatCount = fields.integer("totalSeatCount")
        availableSeatCount = fields.integer("availableSeatCount")
        assignedSeatClaimIDs = fields.strings("assignedSeatClaimIds")
        warnings = fields.warnings
    }
}

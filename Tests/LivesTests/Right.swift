import Entitlements
import Time

/// What is right, or what an evaluation says, in words of its own.
struct Right: Equatable, CustomStringConvertible {
    var state: String
    var access: Bool
    var productID: String
    var ownership: String
    /// With access until when, without it since when.
    var until: Timestamp?
    var periodEnd: Timestamp?
    var willRenew = false
    var nextProductID: String?
    var change: PendingChange?
    var changeAt: Timestamp?
    var isTrial = false
    var offerType: Int64?
    var nextOfferType: Int64?
    var isPriceAgreed: Bool?
    var graceUntil: Timestamp?
    var seats: Int64?
    var gives: Set<String>
    var isMapped: Bool
    /// Whether Apple must be asked.
    var isDoubtful = false

    var description: String {
        "\(state) \(access) \(productID) \(ownership) until \(until?.rfc3339 ?? "-") end \(periodEnd?.rfc3339 ?? "-") "
            + "renews \(willRenew) next \(nextProductID ?? "-") \(change.map { "\($0)" } ?? "-") "
            + "at \(changeAt?.rfc3339 ?? "-") trial \(isTrial) offer \(offerType.map(String.init) ?? "-") then "
            + "\(nextOfferType.map(String.init) ?? "-") price \(isPriceAgreed.map(String.init) ?? "-") "
            + "grace \(graceUntil?.rfc3339 ?? "-") seats \(seats.map(String.init) ?? "-") gives \(gives.sorted()) "
            + "mapped \(isMapped) doubtful \(isDoubtful)"
    }

    func note(in census: inout Census) {
        census.count("seen: \(state)")
        if let change, change != .cancel {
            census.count("seen: \(change == .change ? "change of unknown kind" : change.rawValue) ahead")
        }
        if isTrial { census.count("seen: trial") }
        if offerType != nil { census.count("seen: offer") }
        if nextOfferType != nil { census.count("seen: offer ahead") }
        if let isPriceAgreed { census.count("seen: price \(isPriceAgreed ? "" : "not ")agreed") }
        if ownership != "PURCHASED" { census.count("seen: family") }
        if let seats, seats > 1 { census.count("seen: several seats") }
        if !isMapped { census.count("seen: unmapped product") }
    }
}

extension Right {
    /// What an evaluation says, in the same words.
    init(_ evaluation: LineageEvaluation) {
        self.init(
            state: evaluation.state.rawValue, access: evaluation.access, productID: evaluation.productID ?? "",
            ownership: evaluation.ownership ?? "", until: evaluation.validUntil, periodEnd: evaluation.expiresAt,
            willRenew: evaluation.willRenew, nextProductID: evaluation.nextProductID,
            change: evaluation.pendingChange, changeAt: evaluation.pendingChangeAt, isTrial: evaluation.isTrial,
            offerType: evaluation.offer?.type, nextOfferType: evaluation.nextOffer?.type,
            isPriceAgreed: evaluation.priceIncrease?.isAgreed, graceUntil: evaluation.gracePeriodExpiresAt,
            seats: evaluation.seats, gives: evaluation.entitlements, isMapped: evaluation.isMapped,
            isDoubtful: evaluation.pendingVerification)
    }
}

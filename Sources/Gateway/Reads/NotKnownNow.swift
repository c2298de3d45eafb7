internal import CacheTier
internal import HTTP

extension Problem {
    /// The answer when there is none to give. Never "has nothing": nobody is downgraded because a store is away
    /// (invariant 5).
    static func response(
        to failure: ReadFailure, about key: CustomerKey, _ cache: EntitlementCache, correlation: String
    ) -> HTTPResponse {
        let headers = ["Retry-After": "1"]
        switch failure {
        case .storeUnreachable, .storeLacksData:
            let why =
                failure == .storeLacksData ? "Redis has lost data and not got it back yet" : "Redis cannot be asked now"
            let silence = cache.silence(about: key)
            var response = Problem(
                .customerNotKnownNow,
                "\(why), and nothing was ever heard of this customer here. That does not mean that the customer has "
                    + "nothing: keep what you knew, and ask again.",
                headers: headers
            ).response(correlation: correlation, more: silence.fragment)
            response.headers.append("Holdfast-Service-Level", silence.level.rawValue)
            return response
        case .storeUnreadable:
            return Problem(
                .storeUnreachable,
                "What the customer has cannot be read at this moment. Keep what you knew and ask again.",
                headers: headers
            ).response(correlation: correlation)
        }
    }
}

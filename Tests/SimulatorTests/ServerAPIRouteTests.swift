import Testing

@testable import Simulator

@Suite struct ServerAPIRouteTests {
    @Test func everyEndpointIsInTheTableOnce() {
        #expect(ServerAPIRoute.table.count == ServerAPIRoute.Endpoint.allCases.count)
        #expect(Set(ServerAPIRoute.table.map(\.endpoint)) == Set(ServerAPIRoute.Endpoint.allCases))
    }

    @Test func everyRouteIsFoundByItsOwnPath() {
        for route in ServerAPIRoute.table {
            let path = route.path.split(separator: "/").map { $0.hasPrefix("{") ? "1" : String($0) }
            #expect(ServerAPIRoute.find(route.method, path)?.route.endpoint == route.endpoint, "\(route.path)")
            #expect(ServerAPIRoute.find("PATCH", path) == nil)
        }
    }

    @Test func everyErrorsNumberIsItsOwn() {
        #expect(Set(APIError.all.map(\.code)).count == APIError.all.count)
        for error in APIError.all { #expect([400, 403, 404, 429, 500].contains(error.code / 10_000)) }
        #expect(APIError(code: 4_040_010) == .transactionNotFound)
        #expect(APIError(code: 4_990_000).code == 4_990_000)
    }
}

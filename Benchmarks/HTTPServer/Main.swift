import Glibc
import HTTP
import Runtime

/// What `Benchmarks/http` measures: a GET with an answer of 600 bytes, and a POST whose body is read and answered empty.
/// `HTTPServerBenchmark [CERTIFICATE KEY]` prints its port and serves on one loop until it is killed.
@main enum HTTPServerBenchmark {
    private struct Handler: HTTPHandler {
        let answer = HTTPResponse.json([UInt8](repeating: UInt8(ascii: "a"), count: 600))
        let empty = HTTPResponse(status: 200)

        func respond(to request: HTTPRequest) -> HTTPReply {
            switch request.path {
            case "/later": .later { answer }
            default: .now(request.method == "POST" ? empty : answer)
            }
        }
    }

    static func main() async throws {
        var settings = HTTPServerSettings()
        let arguments = CommandLine.arguments
        if arguments.count == 3 { settings.certificate = .init(chainFile: arguments[1], keyFile: arguments[2]) }
        let server = HTTPServer(
            settings: settings, loops: [try EventLoop(name: "http")], handler: Handler(), metrics: Metrics(),
            log: Log(part: "benchmark", minimum: .error))
        try await server.start()
        print(server.boundPort)
        fflush(nil)
        try await Task.sleep(for: .seconds(3600))
    }
}

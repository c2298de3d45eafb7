import HTTP
import Runtime

enum DemoCommand {
    static let summary = "lets one account of the simulator live, and shows what a read answers at each step"
    static let help = """
        usage: holdfast demo --simulator URL --gateway URL --key KEY [--app ID] [--environment NAME] [--product ID]

        Creates an account in a running simulator and lets it buy, renew, cancel, expire, buy again and be refunded. Prints
        what the store did and what `GET …/entitlements` answers, line by line as it happens, and a table at the end. Exit
        code 1 when a read did not become what it should within --deadline.

          --simulator URL     the simulator, such as http://127.0.0.1:9100
          --gateway URL       the gateway, such as http://127.0.0.1:8080
          --key KEY           a bearer key with the scope read
          --app ID            the app's id in the settings (default demo)
          --environment NAME  production or sandbox (default production)
          --product ID        the subscription to buy (default demo.premium.monthly)
          --deadline SECONDS  how long one step may take (default 60)
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        let arguments = try CommandArguments(
            arguments, options: ["simulator", "gateway", "key", "app", "environment", "product", "deadline"])
        func required(_ name: String) throws -> String {
            guard let value = arguments.value(name) else { throw UsageError("--\(name) is needed") }
            return value
        }
        let loop = try EventLoop(name: "demo")
        let client = HTTPClient(loop: loop)
        let store = SimulatorClient(client: client, url: try required("simulator"))
        let reader = DemoReader(
            client: client, url: try required("gateway"), key: try required("key"),
            app: arguments.value("app") ?? "demo", environment: arguments.value("environment") ?? "production")
        var life = try await DemoLife(
            store: store, reader: reader, product: arguments.value("product") ?? "demo.premium.monthly",
            deadline: .seconds(try arguments.integer("deadline", in: 1...3600) ?? 60))
        let isRight = try await life.live()
        Console.line(life.table)
        return isRight ? 0 : 1
    }
}

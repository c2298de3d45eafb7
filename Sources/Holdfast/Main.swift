import Glibc

@main
enum Main {
    /// Exit codes of every subcommand: 0 fine, 1 the thing asked about is bad, 2 usage, 3 a dependency is unreachable.
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(await Command.run(arguments))
    }
}

import { readCommandLine } from "../../policy/shell/written-commands.ts"

/** Why a command must not run in the foreground, or undefined when it may. */
export function foregroundRefusal(command: string): string | undefined {
  const line = readCommandLine(command)
  const commands = line.commands.map((words) => programWords(words.map(({ value }) => value)))
  const detached = commands.find(([program]) => DETACHING.has(program ?? ""))
  if (detached !== undefined) {
    return `${detached[0]} would leave an unmanaged process behind. Run the command itself with background=true; process then shows its output and stops it`
  }
  if (line.hasBackground) {
    return "a command with & would keep running unseen after this call. Run it with background=true instead (without the &); process then shows its output and stops it"
  }
  const server = commands.find((words) => isServer(words) && !words.some((word) => HELP.has(word)))
  if (server === undefined) return undefined
  return `${server.slice(0, 3).join(" ")} does not exit on its own, so this call would only time out. Run it with background=true, then check it with process`
}

const DETACHING = new Set(["nohup", "disown", "setsid"])
const HELP = new Set(["--help", "-h", "--version"])

/** The program without its directory, followed by its arguments; skips programs that only start another one. */
function programWords(command: readonly string[]): readonly string[] {
  let words = command
  for (;;) {
    const [first = "", ...rest] = words
    const program = first.slice(first.lastIndexOf("/") + 1)
    if (!STARTERS.has(program)) return program === "" ? [] : [program, ...rest]
    const next = rest.findIndex((word) => !word.startsWith("-") && !/^\w+=/.test(word))
    if (next === -1) return [program, ...rest]
    words = rest.slice(next)
  }
}

const STARTERS = new Set(["sudo", "env", "exec", "command", "npx", "bunx"])

function isServer([program = "", ...args]: readonly string[]): boolean {
  const operands = args.filter((word) => !word.startsWith("-"))
  switch (program) {
    case "npm":
    case "pnpm":
    case "yarn":
    case "bun": {
      const run = args.indexOf("run")
      return SERVER_SCRIPTS.has((run === -1 ? operands[0] : args[run + 1]) ?? "")
    }
    case "docker":
      return operands[0] === "compose" && isAttachedUp(args)
    case "docker-compose":
      return isAttachedUp(args)
    case "next":
      return operands[0] === "dev"
    case "vite":
      return operands[0] !== "build"
    case "nodemon":
    case "uvicorn":
    case "gunicorn":
      return true
    default:
      return /^python[\d.]*$/.test(program) && args[args.indexOf("-m") + 1] === "http.server" && args.includes("-m")
  }
}

const SERVER_SCRIPTS = new Set(["dev", "start", "serve", "watch"])

function isAttachedUp(args: readonly string[]): boolean {
  return args.includes("up") && !args.some((word) => word === "--detach" || /^-[a-zA-Z]*d[a-zA-Z]*$/.test(word))
}

import type { Call, Field, Interpreter } from "../interpreter.ts"
import { Scope, UNKNOWN } from "../scope.ts"
import { findCommand, joinWords, optionValue, runInsideText } from "./unwrap.ts"
import type { Wrapper } from "./wrappers.ts"

const SSH: Wrapper = { short: "bBcDeEFIiJlLmoOpPQRSwW" }

/** The words behind the host are one text for the shell of another machine. */
export function runSecureShell(call: Call, interpreter: Interpreter): void {
  const host = findCommand(call.argv, SSH)
  if (host === undefined) return
  runRemote(call, { name: "ssh", host: call.argv[host.at], at: host.at + 1 }, interpreter)
}

/** `vagrant ssh -c text`, `gcloud compute ssh vm --command=text`. */
export function runRemoteText(call: Call, interpreter: Interpreter): void {
  const found = optionValue(call.argv, ["-c", "-C", "--command"])
  if (found === undefined) return
  const name = call.argv[0]?.text ?? ""
  runInsideText(
    call,
    { name, at: found.at, text: found.word, remote: { remote: name, scope: remoteScope() } },
    interpreter,
  )
}

interface RemoteWords {
  readonly name: string
  readonly host: Field | undefined
  readonly at: number
}

function runRemote(call: Call, { name, host, at }: RemoteWords, interpreter: Interpreter): void {
  const words = call.argv.slice(at)
  const remote = { remote: host?.text ?? "", scope: remoteScope() }
  if (words.length > 0) {
    runInsideText(call, { name, at, text: joinWords(words), remote }, interpreter)
    return
  }
  const { input } = call.frame
  if (name === "ssh" && input.text !== undefined) {
    runInsideText(call, { name, at, text: { text: input.text, known: true, pattern: false }, remote }, interpreter)
  }
}

/** Nothing is known about the shell of another machine. */
function remoteScope(): Scope {
  const scope = new Scope({ directory: undefined, variables: new Map(), functions: new Map(), aliases: new Map() })
  for (const name of ["HOME", "USER", "LOGNAME", "PWD"]) scope.setVariable(name, UNKNOWN)
  return scope
}

const options = (list: string): readonly string[] => list.split(" ").map((name) => `--${name}`)

const EXEC: Wrapper = {
  short: "euwcn",
  long: options("env user workdir env-file detach-keys index container namespace cwd mode group"),
}
const RUN: Wrapper = {
  short: "vepwuhlmcan",
  long: options(
    "volume env publish name workdir user network net entrypoint memory cpus mount add-host label hostname env-file platform restart cap-add cap-drop security-opt device dns ulimit tmpfs shm-size pid ipc uts userns gpus log-driver log-opt pull stop-signal group-add link volumes-from cidfile runtime ip mac-address expose sysctl cgroupns annotation image",
  ),
}

/** Words of the subcommand, and the options before the name of the container. */
const CONTAINER_COMMANDS: readonly { readonly words: readonly string[]; readonly options: Wrapper }[] = [
  { words: ["exec"], options: EXEC },
  { words: ["container", "exec"], options: EXEC },
  { words: ["run"], options: RUN },
  { words: ["container", "run"], options: RUN },
  { words: ["compose", "exec"], options: EXEC },
  { words: ["compose", "run"], options: RUN },
  { words: ["kubectl", "exec"], options: EXEC },
  { words: ["shell"], options: {} },
]

/** Options of the program itself that come before the subcommand. */
const GLOBAL: Wrapper = {
  short: "fHlcnps",
  long: options(
    "file host log-level context namespace project-name project-directory profile env-file kubeconfig cluster user config remote",
  ),
}

/** `docker exec container command`, `kubectl exec pod -- command` and the like. The command runs in the container. */
export function runContainer(call: Call, interpreter: Interpreter): void {
  const { argv } = call
  const start = skipCompose(argv)
  const found = CONTAINER_COMMANDS.find(({ words }) => words.every((word, index) => argv[start + index]?.text === word))
  if (found === undefined) return
  const container = findCommand(argv, found.options, start + found.words.length)
  if (container === undefined) return
  const host = argv[container.at]
  let at = container.at + 1
  const end = argv.findIndex(({ text }, index) => index >= at && text === "--")
  if (end !== -1 && argv.slice(at, end).every(({ text }, index) => text.startsWith("-") || index > 0)) at = end + 1
  const words = argv.slice(at)
  if (words.length === 0) return
  const scope = remoteScope()
  interpreter.runCall({
    argv: words,
    assignments: [],
    redirections: [],
    skipsFunctions: true,
    frame: {
      ...call.frame,
      scope,
      source: "remote",
      remote: host?.text ?? "",
      wrappers: [...call.frame.wrappers, { program: argv[0]?.text ?? "", argv: argv.slice(0, at) }],
    },
  })
}

function skipCompose(argv: readonly Field[]): number {
  const first = findCommand(argv, GLOBAL)?.at ?? argv.length
  if (argv[first]?.text !== "compose") return first
  const next = findCommand(argv, GLOBAL, first + 1)?.at ?? argv.length
  return next === first + 1 ? first : next
}

import { addServer } from "../../../admin/mcp/change-servers.ts"
import type { NewServer } from "../../../admin/mcp/change-servers.ts"
import { KNOWN_SERVERS } from "../../../admin/mcp/known-servers.ts"
import type { KnownServer } from "../../../admin/mcp/known-servers.ts"
import { heldTools } from "../../../admin/mcp/server-facts.ts"
import { counted } from "../../../base/counted.ts"
import { nearest } from "../../../base/nearest-name.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome, operation } from "./open-home.ts"
import { printServer } from "./print-server.ts"

/** A server that the user wants, before its key was asked for. */
export type WantedServer = Omit<NewServer, "headers" | "auth"> & { readonly auth?: string | undefined }

/** Connects to a server, shows what it offers, and saves it. Returns the exit code. */
export async function saveServer({ auth, ...wanted }: WantedServer, invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation
  const { name } = wanted
  const headers = auth === "header" ? { Authorization: `Bearer ${await readKey(invocation, name)}` } : undefined
  const server: NewServer = {
    ...wanted,
    ...(headers === undefined ? {} : { headers }),
    ...(auth === "oauth" ? { auth } : {}),
  }
  const force = flags.has("force")
  const added = valueOrCliError(
    await addServer(await openHome(invocation), server, { ...operation(invocation), force }),
  )
  const { facts, problem, saved, variables } = added
  if (facts !== undefined) printServer(facts, invocation)
  if (!saved) {
    const held = facts === undefined ? 0 : heldTools(facts).length
    const count = `${counted(held, "tool")} of it ${held === 1 ? "looks" : "look"} like an attack on the model`
    terminal.errLine(`${name} was not saved: ${count}. \`--force\` saves it; the blocked tools cannot be called then.`)
    return 1
  }
  if (problem !== undefined) terminal.errLine(problem)
  for (const variable of variables) terminal.errLine(`${variable} was stored in .env.`)
  terminal.line(`Saved ${name}. New conversations use it; /reload-mcp adds it to an open one.`)
  return 0
}

/** The known server with this name. */
export function knownServer(name: string): KnownServer {
  const found = KNOWN_SERVERS.find((known) => known.name === name)
  if (found !== undefined) return found
  const names = KNOWN_SERVERS.map((known) => known.name)
  const close = nearest(name, names)
  const hint = close === undefined ? "`hermes mcp catalog` lists them" : `did you mean ${close}?`
  throw new CliError(`There is no known server ${name}; ${hint}`, { exitCode: 1 })
}

/** A known server under a name of the user's choice, with the user's own arguments behind its own. */
export function wantedFrom(known: KnownServer, { name, flags }: { readonly name: string } & Pick<Invocation, "flags">) {
  const own = flags.texts("args")
  if (known.needs !== undefined && own.length === 0)
    throw new CliError(`The server ${known.name} needs arguments: add \`--args ${known.needs}\``, { exitCode: 2 })
  const { args = [], ...entry } = known.entry
  return { name, ...entry, args: [...args, ...own], env: variablesOf(flags), auth: known.auth }
}

/** The values of `--env NAME=VALUE`. */
export function variablesOf(flags: Invocation["flags"]): Readonly<Record<string, string>> {
  return Object.fromEntries(flags.texts("env").map(readVariable))
}

function readVariable(text: string): [string, string] {
  const at = text.indexOf("=")
  if (at <= 0) throw new CliError(`\`--env ${text}\` has no value; write NAME=VALUE`, { exitCode: 2 })
  return [text.slice(0, at), text.slice(at + 1)]
}

async function readKey({ terminal }: Invocation, name: string): Promise<string> {
  const key = await terminal.ask(`Key for ${name}: `, { secret: true })
  if (key !== undefined && key.trim() !== "") return key.trim()
  throw new CliError(
    `No key was entered, but ${name} needs one. Run the command again, or pass it with \`--env NAME=VALUE\`.`,
    { exitCode: 1 },
  )
}

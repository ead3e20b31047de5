import { addServer } from "../../../admin/mcp/change-servers.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome, operation } from "./open-home.ts"
import { printServer } from "./print-server.ts"

/** `hermes mcp add NAME --url URL` or `--command PROGRAM [--args …]` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags, positionals } = invocation
  const [name = ""] = positionals
  const url = flags.text("url")
  const command = flags.text("command")
  if (url === undefined && command === undefined)
    throw new CliError("A server needs an address or a program: add `--url URL` or `--command PROGRAM`", {
      exitCode: 2,
    })
  const auth = flags.text("auth")
  const headers = auth === "header" ? { Authorization: `Bearer ${await readKey(invocation, name)}` } : undefined
  const added = valueOrCliError(
    await addServer(
      await openHome(invocation),
      {
        name,
        ...(url === undefined ? {} : { url }),
        ...(command === undefined ? {} : { command }),
        args: flags.texts("args"),
        env: Object.fromEntries(flags.texts("env").map(readVariable)),
        ...(headers === undefined ? {} : { headers }),
        ...(auth === "oauth" ? { auth: "oauth" as const } : {}),
      },
      { ...operation(invocation), force: flags.has("force") || auth === "oauth" },
    ),
  )
  if (added.facts !== undefined) printServer(added.facts, invocation)
  if (added.problem !== undefined) terminal.errLine(added.problem)
  for (const variable of added.variables) terminal.errLine(`${variable} was stored in .env.`)
  terminal.line(`Saved ${name}. New conversations use it; /reload-mcp adds it to an open one.`)
  if (auth === "oauth" && added.facts === undefined) terminal.errLine(`Log in with \`hermes mcp login ${name}\`.`)
  return 0
}

function readVariable(text: string): [string, string] {
  const at = text.indexOf("=")
  if (at <= 0) throw new CliError(`\`--env ${text}\` has no value; write NAME=VALUE`, { exitCode: 2 })
  return [text.slice(0, at), text.slice(at + 1)]
}

async function readKey({ terminal }: Invocation, name: string): Promise<string> {
  const key = await terminal.ask(`Key for ${name}: `, { secret: true })
  if (key !== undefined && key.trim() !== "") return key.trim()
  throw new CliError("No key was entered; `--auth header` needs one", { exitCode: 1 })
}

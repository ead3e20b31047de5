import { measurePrompt, promptPlatforms } from "../../admin/report/prompt-size.ts"
import { CliError, type Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { VERSION } from "../version.ts"

/** `hermes prompt-size`: what a new session sends before the first message. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation
  const platform = flags.text("platform") ?? "cli"
  if (!promptPlatforms().includes(platform)) {
    throw new CliError(`\`${platform}\` is not a platform; use one of ${promptPlatforms().join(", ")}.`, {
      exitCode: 2,
    })
  }
  const { layers, total } = await measurePrompt(homeContext(invocation), {
    version: VERSION,
    directory: process.cwd(),
    origin: { surface: "cli", platform, attended: () => false },
  })
  if (flags.has("json")) {
    terminal.line(JSON.stringify({ layers, total }))
    return 0
  }
  const width = Math.max(...layers.map(({ layer }) => layer.length))
  for (const row of [...layers, { layer: "total", ...total }]) {
    const size = `${String(row.bytes).padStart(7)} bytes  ~${String(row.tokens).padStart(6)} tokens`
    terminal.line(`${row.layer.padEnd(width)}  ${size}${"reduced" in row ? "  (reduced to fit prompt_budget)" : ""}`)
  }
  return 0
}

import type { Clock } from "../../../base/clock.ts"
import { runInteractively } from "../../../exec/interactive-program.ts"
import { startDeviceLogin } from "../../../llm/credentials/oauth-device.ts"
import { oauthEndpoints, type OAuthEndpoints } from "../../../llm/credentials/oauth-endpoints.ts"
import { startBrowserLogin, type BrowserLogin } from "../../../llm/credentials/oauth-pkce.ts"
import type { TokenAnswer, TokenOptions, TokenSet } from "../../../llm/credentials/oauth-token.ts"
import { CliError, type Invocation } from "../../command.ts"
import type { AuthTarget } from "./provider-pool.ts"

const REQUEST_SECONDS = 15
/** How long a person may take in the browser. */
const PATIENCE_MS = 10 * 60_000

export interface NewLogin {
  readonly tokens: TokenSet
  readonly flow: "device_code" | "loopback_pkce"
  readonly clientId: string
}

/** Leads a person through the login: in the browser where the provider has one, else by a code typed on any device. */
export async function logIn(invocation: Invocation, target: AuthTarget, clock: Clock): Promise<NewLogin> {
  const { config, environment } = target.settings
  const timeoutMs = (invocation.flags.number("timeout") ?? REQUEST_SECONDS) * 1000
  const request = { environment, clock, signal: invocation.signal, timeoutMs }
  const endpoints = await oauthEndpoints(target.provider, { config, ...request })
  if (!endpoints.ok) throw new CliError(endpoints.error, { exitCode: 1 })
  const { authorizeUrl, deviceUrl, clientId } = endpoints.value
  const flow = authorizeUrl === undefined && deviceUrl !== undefined ? "device_code" : "loopback_pkce"
  const waiting = { ...request, signal: AbortSignal.any([invocation.signal, AbortSignal.timeout(PATIENCE_MS)]) }
  const answer =
    flow === "device_code"
      ? await byDevice(invocation, endpoints.value, waiting)
      : await byBrowser(invocation, endpoints.value, waiting)
  if (answer.kind === "tokens") return { tokens: answer.tokens, flow, clientId }
  throw new CliError(answer.message, { exitCode: invocation.signal.aborted ? 130 : 1 })
}

async function byDevice(
  { terminal }: Invocation,
  endpoints: OAuthEndpoints,
  waiting: TokenOptions,
): Promise<TokenAnswer> {
  const login = await startDeviceLogin(endpoints, waiting)
  if (!login.ok) throw new CliError(login.error, { exitCode: 1 })
  terminal.errLine(`Open ${login.value.verificationUrl}`)
  if (login.value.userCode !== "") terminal.errLine(`and type the code ${login.value.userCode}`)
  terminal.errLine("Waiting for you to finish there ...")
  return await login.value.finish(waiting)
}

async function byBrowser(
  invocation: Invocation,
  endpoints: OAuthEndpoints,
  waiting: TokenOptions,
): Promise<TokenAnswer> {
  const login = await startBrowserLogin(endpoints)
  if (!login.ok) throw new CliError(login.error, { exitCode: 1 })
  try {
    return await inBrowser(invocation, login.value, waiting)
  } finally {
    await login.value[Symbol.asyncDispose]()
  }
}

async function inBrowser(invocation: Invocation, login: BrowserLogin, waiting: TokenOptions): Promise<TokenAnswer> {
  const { terminal, flags } = invocation
  terminal.errLine(`Open this address to log in:\n${login.url}`)
  if (!flags.has("manual-paste")) {
    if (!flags.has("no-browser")) await openPage(invocation, login.url)
    terminal.errLine("Waiting for the browser ...")
    return await login.finish(waiting)
  }
  const pasted = await terminal.ask("Paste the address the browser ended at: ")
  if (pasted === undefined) throw new CliError("Nobody is there to paste the answer", { exitCode: 1 })
  return await login.redeem(pasted, waiting)
}

/** A convenience only: the address is on the screen already, so a machine without a browser loses nothing. */
async function openPage({ terminal, environment }: Invocation, url: string): Promise<void> {
  const graphical = ["DISPLAY", "WAYLAND_DISPLAY"].some((name) => (environment.get(name) ?? "") !== "")
  const opener = process.platform === "darwin" ? "open" : graphical ? "xdg-open" : undefined
  if (opener === undefined || !terminal.stderrIsTty || process.platform === "win32") return
  // The browser may stay in the foreground of its starter, so the shell lets go of it at once.
  await runInteractively(`page() { ${opener} "$1" >/dev/null 2>&1 </dev/null & }; page`, url)
}

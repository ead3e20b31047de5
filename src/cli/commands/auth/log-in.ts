import { resolve } from "node:path"

import { systemClock } from "../../../base/clock.ts"
import { runInteractively } from "../../../exec/interactive-program.ts"
import { startDeviceLogin } from "../../../llm/credentials/oauth-device.ts"
import { oauthEndpoints, type OAuthEndpoints } from "../../../llm/credentials/oauth-endpoints.ts"
import { startBrowserLogin, type BrowserLogin } from "../../../llm/credentials/oauth-pkce.ts"
import { addLogin } from "../../../llm/credentials/login-edits.ts"
import { loginTrust } from "../../../llm/credentials/login-trust.ts"
import type { Trust } from "../../../llm/http/trust.ts"
import type { TokenAnswer, TokenOptions, TokenSet } from "../../../llm/credentials/oauth-token.ts"
import { CliError, type FlagValues, type Invocation } from "../../command.ts"
import type { AuthTarget } from "./provider-pool.ts"

/** How long a person may take in the browser. */
const PATIENCE_MS = 10 * 60_000

/** How a person wants to log in: the flags of `auth add` and `model`. */
export interface LoginWishes {
  /** Who brings the answer of the browser: a browser that is opened, one that somebody opens, or the person. */
  readonly answer: "browser" | "printed" | "pasted"
  readonly requestSeconds: number
  readonly caBundle?: string
  readonly insecure: boolean
}

export const USUAL_LOGIN: LoginWishes = { answer: "browser", requestSeconds: 15, insecure: false }

export function loginWishes(flags: FlagValues): LoginWishes {
  const caBundle = flags.text("ca-bundle")
  return {
    answer: flags.has("manual-paste") ? "pasted" : flags.has("no-browser") ? "printed" : "browser",
    requestSeconds: flags.number("timeout") || USUAL_LOGIN.requestSeconds,
    ...(caBundle === undefined ? {} : { caBundle }),
    insecure: flags.has("insecure"),
  }
}

/** Logs in and stores the login. Gives its label. */
export async function logInAndKeep(
  invocation: Invocation,
  target: AuthTarget,
  wishes: LoginWishes & { readonly label?: string | undefined },
): Promise<string> {
  const login = await logIn(invocation, target, wishes)
  const added = await addLogin(target.place, { ...login, label: wishes.label })
  if (!added.ok) throw new CliError(added.error, { exitCode: 1 })
  return added.value
}

interface NewLogin {
  readonly tokens: TokenSet
  readonly flow: "device_code" | "loopback_pkce"
  readonly clientId: string
  readonly bundle?: string
}

/** Leads a person through the login: in the browser where the provider has one, else by a code typed on any device. */
async function logIn(invocation: Invocation, target: AuthTarget, wishes: LoginWishes): Promise<NewLogin> {
  const { config, environment } = target.settings
  const bundle = wishes.caBundle === undefined ? undefined : resolve(wishes.caBundle)
  const trust = trustFor(invocation, target, { bundle, insecure: wishes.insecure })
  const timeoutMs = wishes.requestSeconds * 1000
  const request = { environment, clock: systemClock, signal: invocation.signal, timeoutMs, trust }
  const endpoints = await oauthEndpoints(target.provider, { config, ...request })
  if (!endpoints.ok) throw new CliError(endpoints.error, { exitCode: 1 })
  const { authorizeUrl, deviceUrl, clientId } = endpoints.value
  const flow = authorizeUrl === undefined && deviceUrl !== undefined ? "device_code" : "loopback_pkce"
  const waiting = { ...request, signal: AbortSignal.any([invocation.signal, AbortSignal.timeout(PATIENCE_MS)]) }
  const answer =
    flow === "device_code"
      ? await byDevice(invocation, endpoints.value, waiting)
      : await byBrowser(invocation, endpoints.value, { waiting, answer: wishes.answer })
  if (answer.kind === "tokens")
    return { tokens: answer.tokens, flow, clientId, ...(bundle === undefined ? {} : { bundle }) }
  throw new CliError(answer.message, { exitCode: invocation.signal.aborted ? 130 : 1 })
}

/** For the exchanges of this one login; the model is asked as always. */
function trustFor(
  { terminal }: Invocation,
  { provider, settings: { config } }: AuthTarget,
  { bundle, insecure }: { readonly bundle: string | undefined; readonly insecure: boolean },
): Trust | undefined {
  if (insecure) {
    terminal.errLine(
      "Warning: the certificate of the login server is not checked, so anybody in between can read this login. It is checked again when the login is renewed; `--ca-bundle FILE` is the way that lasts.",
    )
    return { rejectUnauthorized: false }
  }
  const named = bundle === undefined ? undefined : { path: bundle, namedBy: "--ca-bundle" }
  const trust = loginTrust(provider, { config, bundle: named })
  if (!trust.ok) throw new CliError(trust.error, { exitCode: 1 })
  return trust.value
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
  how: { readonly waiting: TokenOptions; readonly answer: LoginWishes["answer"] },
): Promise<TokenAnswer> {
  const login = await startBrowserLogin(endpoints)
  if (!login.ok) throw new CliError(login.error, { exitCode: 1 })
  try {
    return await inBrowser(invocation, login.value, how)
  } finally {
    await login.value[Symbol.asyncDispose]()
  }
}

async function inBrowser(
  invocation: Invocation,
  login: BrowserLogin,
  { waiting, answer }: { readonly waiting: TokenOptions; readonly answer: LoginWishes["answer"] },
): Promise<TokenAnswer> {
  const { terminal } = invocation
  terminal.errLine(`Open this address to log in:\n${login.url}`)
  if (answer !== "pasted") {
    if (answer === "browser") await openPage(invocation, login.url)
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

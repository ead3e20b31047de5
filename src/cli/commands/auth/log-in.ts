import { resolve } from "node:path"

import { logIn, type LoginPorts } from "../../../admin/credentials/log-in.ts"
import { openInBrowser } from "../../../admin/credentials/open-in-browser.ts"
import type { ProviderCredentials } from "../../../admin/credentials/provider-credentials.ts"
import { CliError, type FlagValues, type Invocation } from "../../command.ts"

/** The login flags of `auth add` and `model`. */
export interface LoginFlags {
  /** How the login comes back from the browser: `browser` opens one, `printed` leaves opening it to the user, `pasted` asks for its last address. */
  readonly redirect: "browser" | "printed" | "pasted"
  readonly requestSeconds: number
  readonly caBundle?: string
  readonly insecure: boolean
}

export const DEFAULT_LOGIN_FLAGS: LoginFlags = { redirect: "browser", requestSeconds: 15, insecure: false }

export function readLoginFlags(flags: FlagValues): LoginFlags {
  const caBundle = flags.text("ca-bundle")
  return {
    redirect: flags.has("manual-paste") ? "pasted" : flags.has("no-browser") ? "printed" : "browser",
    requestSeconds: flags.number("timeout") || DEFAULT_LOGIN_FLAGS.requestSeconds,
    ...(caBundle === undefined ? {} : { caBundle }),
    insecure: flags.has("insecure"),
  }
}

/** Guides the user through a login and stores it. Returns its label. */
export async function logInOnTerminal(
  invocation: Invocation,
  target: ProviderCredentials,
  flags: LoginFlags & { readonly label?: string | undefined },
): Promise<string> {
  const { caBundle, insecure, requestSeconds, label } = flags
  if (insecure) {
    invocation.terminal.errLine(
      "Warning: the certificate of the login server is not checked, so anyone on the network path can read this login. It is checked again when the login is renewed; use `--ca-bundle FILE` for a permanent solution.",
    )
  }
  const stored = await logIn(target, {
    label,
    requestTimeoutMs: requestSeconds * 1000,
    caBundle: caBundle === undefined ? undefined : { path: resolve(caBundle), origin: "--ca-bundle" },
    insecure,
    ports: terminalPorts(invocation, flags.redirect),
    signal: invocation.signal,
  })
  if (stored.ok) return stored.value
  throw new CliError(stored.error.message, { exitCode: invocation.signal.aborted ? 130 : 1 })
}

function terminalPorts({ terminal, environment }: Invocation, redirect: LoginFlags["redirect"]): LoginPorts {
  return {
    showDeviceCode: ({ verificationUrl, userCode }) => {
      terminal.errLine(`Open ${verificationUrl}`)
      if (userCode !== "") terminal.errLine(`and type the code ${userCode}`)
      terminal.errLine("Waiting for you to finish there ...")
    },
    showLoginPage: async (url) => {
      terminal.errLine(`Open this address to log in:\n${url}`)
      if (redirect === "pasted") return
      // The address is on the screen already, so a machine without a browser loses nothing.
      if (redirect === "browser" && terminal.stderrIsTty) await openInBrowser(url, environment)
      terminal.errLine("Waiting for the browser ...")
    },
    ...(redirect === "pasted" && {
      askForRedirect: async () => await terminal.ask("Paste the address that the browser ended at: "),
    }),
  }
}

import { statSync } from "node:fs"
import { resolve } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import type { Home } from "../../config/home.ts"
import type { ShellHook } from "./shell-hook.ts"
import { splitCommand } from "./split-command.ts"

/** The commands that the user has approved. The Python edition uses the same file. */
export interface Consent {
  readonly event: string
  readonly command: string
  readonly approved_at: string
  /** The modification time of the script when it was approved. */
  readonly script_mtime_at_approval: string | null
}

const MAX_BYTES = 1_000_000

export function consentFile(home: Home): string {
  return home.file("shell-hooks-allowlist.json")
}

export function readConsents(home: Home): readonly Consent[] {
  let parsed: unknown
  try {
    parsed = parseJson(readRegularFile(consentFile(home), { maxBytes: MAX_BYTES }).bytes.toString("utf8"))
  } catch {
    // Without the file nothing is approved.
    return []
  }
  const list: unknown = isRecord(parsed) ? parsed["approvals"] : undefined
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown): readonly Consent[] => {
    if (!isRecord(entry) || typeof entry["event"] !== "string" || typeof entry["command"] !== "string") return []
    const { event, command, approved_at: at, script_mtime_at_approval: changed } = entry
    return [
      {
        event,
        command,
        approved_at: typeof at === "string" ? at : "",
        script_mtime_at_approval: typeof changed === "string" ? changed : null,
      },
    ]
  })
}

export function isApproved(hook: Pick<ShellHook, "event" | "command">, consents: readonly Consent[]): boolean {
  return consents.some(({ event, command }) => event === hook.event && command === hook.command)
}

export async function approveHook(
  hook: Pick<ShellHook, "event" | "command">,
  { home, clock, cwd }: { readonly home: Home; readonly clock: Clock; readonly cwd: string },
): Promise<void> {
  const entry: Consent = {
    event: hook.event,
    command: hook.command,
    approved_at: new Date(clock.now()).toISOString(),
    script_mtime_at_approval: scriptChangedAt(hook.command, { home, cwd }) ?? null,
  }
  await changeConsents(home, (consents) => [...consents.filter((other) => !isApproved(hook, [other])), entry])
}

/** Removes every approval of a command. Returns how many there were. */
export async function revokeCommand(command: string, home: Home): Promise<number> {
  let removed = 0
  await changeConsents(home, (consents) => {
    const kept = consents.filter((consent) => consent.command !== command)
    removed = consents.length - kept.length
    return kept
  })
  return removed
}

/** The modification time of the first word that is a file. */
export function scriptChangedAt(
  command: string,
  { home, cwd }: { readonly home: Home; readonly cwd: string },
): string | undefined {
  for (const word of splitCommand(command, home.userHome) ?? []) {
    const found = statSync(resolve(cwd, word), { throwIfNoEntry: false })
    if (found?.isFile() === true) return found.mtime.toISOString()
  }
  return undefined
}

async function changeConsents(home: Home, change: (consents: readonly Consent[]) => readonly Consent[]): Promise<void> {
  const path = consentFile(home)
  await withFileLock(`${path}.lock`, { waitMs: 5000 }, () => {
    writeFileAtomic(path, `${JSON.stringify({ approvals: change(readConsents(home)) }, undefined, 2)}\n`, {
      mode: 0o600,
    })
  })
}

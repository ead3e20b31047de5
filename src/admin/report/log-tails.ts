import { createRedactor } from "../../base/redact.ts"
import { secretValues } from "../../app/secret-values.ts"
import type { HomeContext } from "../home-context.ts"
import { LOG_NAMES } from "../logs/log-files.ts"
import { logPath } from "../logs/read-log.ts"
import { loadSettings } from "../settings/load-settings.ts"
import { readFileTail } from "./read-file-tail.ts"

export interface LogTail {
  readonly name: string
  /** Oldest first. */
  readonly lines: readonly string[]
}

const MAX_BYTES = 512 * 1024

/** The end of each log file that exists. Secrets are masked even where the settings disable that, and e-mail addresses too. */
export async function readLogTails(
  context: HomeContext,
  { lines, redacts }: { readonly lines: number; readonly redacts: boolean },
): Promise<readonly LogTail[]> {
  const { config, environment } = await loadSettings(context)
  const redactor = createRedactor({ enabled: true, secrets: secretValues({ environment, config, home: context.home }) })
  const clean = (text: string): string =>
    redacts ? redactor.redact(text, { force: true }).replaceAll(EMAIL, "***@***") : text
  return LOG_NAMES.flatMap((name): readonly LogTail[] => {
    const text = readFileTail(logPath(context, name), MAX_BYTES)
    if (text === undefined) return []
    const all = text.trimEnd().split("\n")
    return [{ name: `${name}.log`, lines: lines === 0 ? [] : all.slice(-lines).map(clean) }]
  })
}

const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/gu

import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { isVariableName, parseDotenv } from "../../config/dotenv-lines.ts"
import { isSecretKey, KNOWN_DOTENV_NAMES } from "../../config/secrets.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import type { ForeignHome } from "./foreign-home.ts"
import { settingsVariables } from "./import-settings.ts"

/** What another agent knows that is secret. Values leave this module only for `.env`. */
export interface ForeignSecrets {
  /** Variables that Hermes uses as well and that are not set here. */
  readonly usable: ReadonlyMap<string, string>
  /** Sentences about logins and keys that stay where they are. */
  readonly notes: readonly string[]
}

const MAX_BYTES = 1_000_000

export function findSecrets(foreign: ForeignHome, loaded: LoadedHome): ForeignSecrets {
  const { files } = foreign
  const found = new Map<string, string>()
  const notes: string[] = []
  const add = (name: string, value: unknown): void => {
    if (typeof value !== "string" || value.trim() === "" || value.includes("${")) return
    if (isVariableName(name) && (isSecretKey(name) || KNOWN_DOTENV_NAMES.includes(name))) found.set(name, value)
  }
  for (const [name, value] of Object.entries(settingsVariables(foreign))) add(name, value)
  switch (foreign.agent) {
    case "openclaw": {
      for (const line of parseDotenv(Buffer.from(files.read(".env", { maxBytes: MAX_BYTES }) ?? "")))
        if (line.kind === "assignment") add(line.name, line.value)
      const profiles = files
        .list("agents")
        .filter(({ path }) => files.list(`${path}/agent`).some(({ name }) => name === "auth-profiles.json"))
      if (profiles.length > 0) notes.push(loginNote("OpenClaw", "auth-profiles.json"))
      break
    }
    case "codex": {
      const login = parseJson(files.read("auth.json", { maxBytes: MAX_BYTES }) ?? "")
      add("OPENAI_API_KEY", stringField(login, "OPENAI_API_KEY"))
      if (isRecord(login) && isRecord(login["tokens"])) notes.push(loginNote("Codex", "auth.json"))
      break
    }
    case "claude-code":
      if (files.list("").some(({ name }) => name === ".credentials.json"))
        notes.push(loginNote("Claude Code", ".credentials.json"))
  }
  const usable = [...found].filter(
    ([name]) => KNOWN_DOTENV_NAMES.includes(name) && loaded.environment.get(name) === undefined,
  )
  const others = [...found.keys()].filter((name) => !KNOWN_DOTENV_NAMES.includes(name))
  if (others.length > 0)
    notes.push(`Hermes does not use these variables, so they stay where they are: ${others.join(", ")}.`)
  return { usable: new Map(usable), notes }
}

function loginNote(program: string, file: string): string {
  return `The login of ${program} (${file}) belongs to that program and is not copied. Log in with \`hermes auth\`.`
}

export async function storeSecretsOf(
  { home, environment }: LoadedHome,
  { usable }: ForeignSecrets,
): Promise<Result<undefined, AdminFailure>> {
  for (const [name, value] of usable) {
    const stored = await storeSecret({ home, environment, name, value })
    if (!stored.ok) return stored
  }
  return ok(undefined)
}

import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { keysFrom } from "./identity.ts"
import type { AwsCredentialOptions, AwsKeys } from "./identity.ts"

/** The keys that a program of the person's prints. Throws only when the signal aborts. */
export async function keysOfProgram(
  { name, commandLine }: { readonly name: string; readonly commandLine: string },
  { runProgram, signal, clock }: AwsCredentialOptions,
): Promise<Result<AwsKeys>> {
  const who = `the credential_process of the AWS profile "${name}"`
  const words = splitCommandLine(commandLine)
  if (words === undefined || words.length === 0) return fail(`${who} is not a command line: a quote is not closed`)
  if (runProgram === undefined) return fail(`${who} is not run here`)
  const printed = await runProgram(words, { signal })
  if (!printed.ok) return fail(`${who} ${printed.error}. Run it in a terminal to see why`)
  const answer = parseJson(printed.value)
  if (!isRecord(answer) || answer["Version"] !== 1) {
    return fail(`${who} printed something else than credentials of version 1. Run it in a terminal to see what`)
  }
  const found = keysFrom({
    accessKeyId: stringField(answer, "AccessKeyId"),
    secretAccessKey: stringField(answer, "SecretAccessKey"),
    sessionToken: stringField(answer, "SessionToken"),
    expiresAt: Date.parse(stringField(answer, "Expiration") ?? ""),
    source: `AWS profile ${name} (credential_process)`,
  })
  if (found === undefined)
    return fail(`${who} printed no AccessKeyId and SecretAccessKey. Run it in a terminal to see why`)
  if ((found.expiresAt ?? Infinity) <= clock.now())
    return fail(`${who} printed keys that have ended already. Renew them`)
  return ok(found)
}

/** Words as a shell would cut them, with quotes and backslashes and nothing else of a shell; undefined for an open quote. */
export function splitCommandLine(line: string): readonly string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  for (let rest = line; rest !== "";) {
    const [part = "", plain, single, double] =
      /^(?:((?:[^\s'"\\]|\\[^])+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\s+)/.exec(rest) ?? []
    if (part === "") return undefined
    rest = rest.slice(part.length)
    const text = single ?? plain?.replaceAll(/\\([^])/g, "$1") ?? double?.replaceAll(/\\(["\\$`])/g, "$1")
    if (text !== undefined) word = (word ?? "") + text
    else if (word !== undefined) {
      words.push(word)
      word = undefined
    }
  }
  return word === undefined ? words : [...words, word]
}

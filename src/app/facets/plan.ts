import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"

import { approvalMessage, enteringPlanNote, leavingPlanNote, PLAN_APPROVED } from "../../agent/plan/plan-text.ts"
import { formatPlanRecord, isOpenPlan, parsePlanRecord, planName } from "../../agent/plan/plan-record.ts"
import type { PlanRecord } from "../../agent/plan/plan-record.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { epochSeconds } from "../../base/clock.ts"
import { lazy } from "../../base/lazy.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { configuredProfile } from "../../policy/permission-profile.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import { parsePattern } from "../../policy/rules/parse-pattern.ts"
import { conversationRows } from "../services/conversation-rows.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import type { PlanApproval, PlanApprovalKind, PlanMode } from "../session/plan-mode.ts"

/** The accesses that an approval with `ask` leaves to a question each. */
const CHANGES = ["write", "exec", "network"]

const PROFILE_AFTER: Readonly<Record<PlanApprovalKind, PermissionProfile>> = {
  approve: "accept-edits",
  ask: "default",
}

export async function planFacet(context: FacetContext): Promise<AppFacet> {
  const { services, workspace } = context
  const { files } = workspace
  const taskId = await firstSessionId(context)
  const name = planName(taskId)
  const relativePath = `.hermes/plans/${name}.md`
  const path = files.resolve(join(workspace.cwd(), relativePath))
  const directory = workspace.cwd()
  /** Looked up in plan mode only, because every session has this facet. */
  const planFile = lazy(async () => {
    const realPath = join(await files.realPath(directory), relativePath)
    // The project may contain a link at `.hermes` that leads elsewhere: the plan is not read or written there.
    const judged = files.withJudgedPaths?.([{ given: path, literal: path, real: realPath, entry: realPath }])
    return { realPath, files: judged ?? files }
  })
  const recordFile = services.home.file("plans", `${name}.json`)
  const profile = (): PermissionProfile => context.session().dispatch.permissions.profile
  let profileBefore = configuredProfile(services.config)
  /** Whether the model has been told that plan mode is on. */
  let isNoted = false
  let hashBefore: string | undefined
  let approved: PlanApproval | undefined

  const readPlan = async (): Promise<string | undefined> => {
    try {
      return Buffer.from(await (await planFile()).files.read(path)).toString("utf8")
    } catch {
      // There is no plan yet.
      return undefined
    }
  }
  const readRecord = (): PlanRecord | undefined => {
    try {
      return parsePlanRecord(readRegularFile(recordFile, { maxBytes: MAX_RECORD_BYTES }).bytes.toString("utf8"))
    } catch {
      // There is none.
      return undefined
    }
  }
  const writeRecord = (change: Partial<PlanRecord>): void => {
    const initial: PlanRecord = {
      taskId,
      path,
      sha256: "",
      status: "drafting",
      createdAt: epochSeconds(services.clock),
    }
    mkdirSync(dirname(recordFile), { recursive: true, mode: 0o700 })
    writeFileAtomic(recordFile, formatPlanRecord({ ...initial, ...readRecord(), ...change }))
  }
  const waiting = async () => {
    const record = readRecord()
    const text = record?.status === "ready" ? await readPlan() : undefined
    return record === undefined || text === undefined ? undefined : { record, text }
  }
  const resumed = context.options.resume === undefined ? undefined : readRecord()
  const plan: PlanMode = {
    path,
    isUndecided: resumed !== undefined && isOpenPlan(resumed),
    finish: async ({ outcome, finalResponse, partial }) => {
      const answer = finalResponse?.trim() ?? ""
      if (profile() !== "plan" || outcome !== "completed" || partial === true || answer === "") return undefined
      const written = await readPlan()
      const isNew = written !== undefined && written.trim() !== "" && sha256Hex(written) !== hashBefore
      // The model wants to know something before it plans; the user answers, and plan mode stays on.
      if (!isNew && asksBack(answer)) return undefined
      const text = isNew ? written : `${answer}\n`
      if (!isNew) {
        const target = await planFile()
        if ((await files.realPath(path)) !== target.realPath)
          throw new Error(`The plan was not stored in ${relativePath}: a link leads elsewhere. Remove the link.`)
        await target.files.write(path, text)
      }
      const sha256 = sha256Hex(text)
      writeRecord({ status: "ready", sha256 })
      return { taskId, path, text, sha256 }
    },
    show: async () => {
      const found = await waiting()
      if (found === undefined) return undefined
      writeRecord({ sha256: sha256Hex(found.text) })
      return { path, text: found.text }
    },
    approve: async (how) => {
      const found = await waiting()
      if (found === undefined) return fail("none")
      if (sha256Hex(found.text) !== found.record.sha256) return fail("changed")
      const profileAfter = PROFILE_AFTER[how]
      approved = {
        profile: profileAfter,
        askAbout: how === "ask" ? CHANGES.flatMap((access) => okValues(parsePattern(access))) : [],
        ...approvalMessage({ text: found.text, profile: profileAfter }),
        applied: () => {
          isNoted = false
          writeRecord({ status: "approved", approvedBy: "user", approvedProfile: profileAfter })
        },
      }
      return ok(PLAN_APPROVED)
    },
    takeApproval: (message) => {
      const taken = message === PLAN_APPROVED ? approved : undefined
      approved = undefined
      return taken
    },
    abort: () => {
      if (readRecord() !== undefined) writeRecord({ status: "aborted" })
      return Promise.resolve(profileBefore)
    },
  }
  return {
    name: "plan mode",
    abilities: () => ({ plan }),
    beforeTurn: async () => {
      if (profile() !== "plan") {
        profileBefore = profile()
        const note = isNoted ? leavingPlanNote(profileBefore) : undefined
        isNoted = false
        return approved === undefined ? note : undefined
      }
      hashBefore = mapDefined(await readPlan(), sha256Hex)
      if (isNoted) return undefined
      isNoted = true
      writeRecord({ status: "drafting" })
      return enteringPlanNote(relativePath)
    },
  }
}

/** The answer ends with a question and has no list of steps. */
function asksBack(answer: string): boolean {
  return /\?["')*_`\s]*$/u.test(answer) && !/^\s*(?:\d+[.)]|[-*]|#+)\s/mu.test(answer)
}

const MAX_RECORD_BYTES = 100_000

/** The id that the conversation began with. A resumed conversation may have got others by compressions. */
async function firstSessionId({ options, services, taskId }: FacetContext): Promise<string> {
  if (options.resume === undefined) return taskId
  const store = await services.store()
  const row = await store.session(taskId)
  const rows = row === undefined ? [] : await conversationRows(store, row)
  return rows.at(-1)?.id ?? taskId
}

function okValues<T>(result: Result<T>): readonly T[] {
  return result.ok ? [result.value] : []
}

function mapDefined<T, R>(value: T | undefined, map: (value: T) => R): R | undefined {
  return value === undefined ? undefined : map(value)
}

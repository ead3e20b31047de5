import { isRecord } from "../../base/json.ts"

/** What became of the plan of a conversation. */
export interface PlanRecord {
  readonly taskId: string
  /** Absolute path in the workspace. */
  readonly path: string
  /** Of the text that was last shown to the user; empty while the plan is being written. */
  readonly sha256: string
  readonly status: "drafting" | "ready" | "approved" | "aborted"
  /** Epoch seconds. */
  readonly createdAt: number
  readonly approvedBy?: string
  readonly approvedProfile?: string
}

/** The name of the plan file without its directory. A task id may come from another program. */
export function planName(taskId: string): string {
  return taskId.replaceAll(/[^A-Za-z0-9_-]/gu, "_")
}

/** Whether the user still has to decide. Such a conversation resumes in plan mode. */
export function isOpenPlan({ status }: PlanRecord): boolean {
  return status === "drafting" || status === "ready"
}

export function formatPlanRecord(record: PlanRecord): string {
  return `${JSON.stringify(
    {
      task_id: record.taskId,
      path: record.path,
      sha256: record.sha256,
      status: record.status,
      created_at: record.createdAt,
      approved_by: record.approvedBy ?? null,
      approved_profile: record.approvedProfile ?? null,
    },
    null,
    2,
  )}\n`
}

/** Undefined for a file that is not a plan record. */
export function parsePlanRecord(text: string): PlanRecord | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(value)) return undefined
  const { task_id: taskId, path, sha256, status, created_at: createdAt } = value
  if (typeof taskId !== "string" || typeof path !== "string" || typeof sha256 !== "string") return undefined
  if (typeof createdAt !== "number" || !isStatus(status)) return undefined
  const { approved_by: approvedBy, approved_profile: approvedProfile } = value
  return {
    taskId,
    path,
    sha256,
    status,
    createdAt,
    ...(typeof approvedBy === "string" ? { approvedBy } : {}),
    ...(typeof approvedProfile === "string" ? { approvedProfile } : {}),
  }
}

function isStatus(value: unknown): value is PlanRecord["status"] {
  return value === "drafting" || value === "ready" || value === "approved" || value === "aborted"
}

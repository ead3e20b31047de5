import type { Config } from "../../config/load-config.ts"

export interface CheckpointSettings {
  readonly enabled: boolean
  readonly maxSnapshots: number
  readonly maxTotalMb: number
  readonly maxFileMb: number
  readonly autoPrune: boolean
  readonly retentionDays: number
  readonly deleteOrphans: boolean
  readonly minIntervalHours: number
}

export function checkpointSettings(config: Config): CheckpointSettings {
  return {
    enabled: config.get("checkpoints.enabled"),
    maxSnapshots: config.get("checkpoints.max_snapshots"),
    maxTotalMb: config.get("checkpoints.max_total_size_mb"),
    maxFileMb: config.get("checkpoints.max_file_size_mb"),
    autoPrune: config.get("checkpoints.auto_prune"),
    retentionDays: config.get("checkpoints.retention_days"),
    deleteOrphans: config.get("checkpoints.delete_orphans"),
    minIntervalHours: config.get("checkpoints.min_interval_hours"),
  }
}

#include "recipe/sections/trainer.hpp"

namespace verlc {
namespace {

void schedule_fields(TrainerSection& s, FieldVisitor& v) {
  v.field(&s.total_epochs,
          {.key = "total_epochs", .min = 1, .max = 1 << 20, .help = "passes over the training rows"});
  v.field(&s.total_training_steps, {.key = "total_training_steps",
                                    .min = 1,
                                    .max = 1 << 30,
                                    .unset = "total_epochs passes",
                                    .help = "steps of the run, however many passes that takes"});
  v.field(&s.save_freq, {.key = "save_freq",
                         .min = -1,
                         .help = "steps between checkpoints; -1 or 0 = only after the last step"});
  v.field(&s.test_freq, {.key = "test_freq",
                         .min = -1,
                         .help = "steps between validations; -1 or 0 = only after the last step"});
  v.field(&s.val_before_train, {.key = "val_before_train", .help = "validate before the first step"});
  v.field(&s.resume_mode,
          {.key = "resume_mode",
           .choices = {"auto", "disable", "resume_path"},
           .help = "go on from the newest whole checkpoint, start anew, or take resume_from_path"});
  v.field(&s.resume_from_path, {.key = "resume_from_path",
                                .path = PathKind::input,
                                .unset = "none",
                                .help = "a global_step_N folder, for resume_mode = \"resume_path\""});
}

}  // namespace

void TrainerSection::fields(FieldVisitor& v) {
  schedule_fields(*this, v);
  v.field(&ranks, {.key = "ranks", .min = 1, .max = 65536, .help = "processes of the job"});
  v.field(&threads_per_rank, {.key = "threads_per_rank",
                              .min = 0,
                              .max = 4096,
                              .help = "compute threads of a rank; 0 = share the host's cores"});
  v.field(&oversubscribe, {.key = "oversubscribe", .help = "allow more ranks than cores"});
  v.field(
      &balance_batch,
      {.key = "balance_batch",
       .help = "after scoring, move prompts with their samples between ranks until each has about the same "
               "work in every mini-batch; results stay the same but for the order of sums"});
  v.field(&logger, {.key = "logger",
                    .choices = {"console", "file"},
                    .help = "where metrics go; file = metrics.jsonl in the run's folder"});
  v.field(&rollout_data, {.key = "rollout_data", .help = "write every step's samples to rollouts/*.jsonl"});
  v.field(&comm_timeout_s, {.key = "comm_timeout_s",
                            .min = 1,
                            .max = 86400,
                            .help = "seconds a rank waits for the others before the job ends"});
}

}  // namespace verlc

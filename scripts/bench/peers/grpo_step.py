"""A GRPO step over fixed random prompts and random rewards."""

import argparse

import torch

import torch_model
from measure import Phases, Workload
from torch_sampler import Sampler

CLIP = 0.2


class GrpoStep:
    """Owns the models and the optimizer; `run` makes one step and returns its phases."""

    def __init__(self, work: Workload, options: argparse.Namespace) -> None:
        self.work_ = work
        self.dtype_ = options.dtype
        self.beta_ = options.beta
        self.micro_ = options.micro
        self.recompute_old_ = options.old == "recompute"
        self.only_response_ = options.logits == "response"
        low = torch_model.DTYPES[options.dtype]
        self.actor_ = torch_model.load(work, torch.float32)
        self.optimizer_ = torch_model.adamw(self.actor_)
        self.rollout_ = self.actor_ if options.dtype == "f32" else torch_model.load(work, low).eval()
        self.reference_ = torch_model.load(work, low).eval() if self.beta_ else None
        self.sampler_ = Sampler(self.rollout_, work.response_length)
        prompts = torch_model.random_prompts(work, work.prompts, self.actor_.config.vocab_size)
        self.prompts_ = prompts.repeat_interleave(work.samples, dim=0)

    def run(self, sequences: int) -> Phases:
        """A step with the first `sequences` of the prompts."""
        timer = Phases()
        if self.rollout_ is not self.actor_:
            with timer.phase("sync"):
                self.copy_weights()
        tokens = self.sampler_.generate(self.prompts_[:sequences], timer)
        # inference_mode tensors can't take part in autograd.
        tokens = tokens.clone()
        advantages = self.advantages()[:sequences]
        old = reference = None
        if self.recompute_old_:
            with timer.phase("old_log_prob"), torch_model.autocast(self.dtype_):
                old = self.log_probs(self.actor_, tokens)
        if self.reference_ is not None:
            with timer.phase("ref_log_prob"):
                reference = self.log_probs(self.reference_, tokens)
        with timer.phase("update"):
            self.accumulate(tokens, advantages, old, reference)
        with timer.phase("optimizer"):
            torch.nn.utils.clip_grad_norm_(self.actor_.parameters(), 1.0)
            self.optimizer_.step()
            self.optimizer_.zero_grad(set_to_none=True)
        return timer

    @torch.no_grad()
    def copy_weights(self) -> None:
        for target, source in zip(self.rollout_.parameters(), self.actor_.parameters(), strict=True):
            target.copy_(source)

    def advantages(self) -> torch.Tensor:
        """Group-normalised random rewards [sequences]."""
        rewards = torch.rand(self.work_.prompts, self.work_.samples)
        centred = rewards - rewards.mean(dim=1, keepdim=True)
        return (centred / (rewards.std(dim=1, keepdim=True) + 1e-6)).flatten()

    @torch.inference_mode()
    def log_probs(self, model: torch.nn.Module, tokens: torch.Tensor) -> torch.Tensor:
        parts = [torch_model.response_log_probs(model, part, self.work_.prompt_length, self.only_response_)
                 for part in tokens.split(self.micro_)]
        return torch.cat(parts)

    def accumulate(self, tokens: torch.Tensor, advantages: torch.Tensor, old: torch.Tensor | None,
                   reference: torch.Tensor | None) -> None:
        """Forward and backward of every micro-batch; gradients add up to those of the mean over response tokens."""
        for start in range(0, len(tokens), self.micro_):
            part = slice(start, start + self.micro_)
            with torch_model.autocast(self.dtype_):
                log_probs = torch_model.response_log_probs(self.actor_, tokens[part], self.work_.prompt_length,
                                                           self.only_response_)
            before = log_probs.detach() if old is None else old[part]
            ratio = torch.exp(log_probs - before)
            gain = advantages[part, None]
            loss = -torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
            if reference is not None:
                gap = reference[part] - log_probs
                loss = loss + self.beta_ * (torch.exp(gap) - gap - 1)
            (loss.sum() / self.work_.response_tokens).backward()

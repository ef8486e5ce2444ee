#!/usr/bin/env python3
"""Writes tests/data/golden/algorithms.json: policy losses with PyTorch autograd's gradients, and advantages.

    scripts/golden/algorithms.py [--out FILE]

Written from the papers' formulas on padded float64 tensors, one response a row: another shape than the program's
packed spans, so that a fault of one is not shared by the other. Junk stands at masked slots.
"""

import argparse
import json
import pathlib

import torch

LENGTHS = (5, 7, 3, 6, 4, 7)
WIDTH = max(LENGTHS)
# Tokens that are not trained on: observations between, and everything beyond the response.
OBSERVED = ((0, 2), (1, 0), (3, 4), (3, 5))
UIDS = (4, 9, 4, 9, 4, 9)
JUNK = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=pathlib.Path, default=root / "tests" / "data" / "golden" / "algorithms.json")
    options = parser.parse_args()
    torch.manual_seed(20261130)
    batch = Batch()
    content = {"torch": torch.__version__, **batch.inputs(), "losses": losses(batch), "estimators": estimators(batch)}
    options.out.write_text(json.dumps(content, indent=1) + "\n")


class Batch:
    """Float32 values (so that the program reads the same numbers) in float64 tensors [S, W]."""

    def __init__(self) -> None:
        self.mask = torch.zeros(len(LENGTHS), WIDTH, dtype=torch.bool)
        for row, length in enumerate(LENGTHS):
            self.mask[row, :length] = True
        self.present = self.mask.clone()
        for row, column in OBSERVED:
            self.mask[row, column] = False
        shape = self.mask.shape
        self.old = self.known(-torch.rand(shape) * 2.5 - 0.05)
        # Small and large moves, so that every branch of a clip is met.
        moves = torch.randn(shape) * torch.tensor([0.05, 0.3, 1.0])[torch.randint(0, 3, shape)]
        self.logp = self.known(torch.minimum(self.old.float() + moves, torch.tensor(-0.01)))
        self.advantages = self.known(torch.randn(shape))
        self.is_weights = self.known(torch.rand(shape) * 2)
        self.rewards = self.known(torch.randn(shape) * (torch.rand(shape) < 0.4))

    def known(self, values: torch.Tensor) -> torch.Tensor:
        return torch.where(self.mask, values, JUNK).float().double()

    def packed(self, values: torch.Tensor) -> list:
        return values[self.present].tolist()

    def inputs(self) -> dict:
        names = ("mask", "old", "logp", "advantages", "is_weights", "rewards")
        return {"lengths": LENGTHS, "uids": UIDS, **{name: self.packed(getattr(self, name)) for name in names}}


# ---- policy losses: token losses [S, W] from log-probs -------------------------------------------------------

LOW, HIGH, C = 0.2, 0.28, 3.0


def ratio(logp, old):
    return torch.exp((logp - old).clamp(-20, 20))


def surrogate(values, adv, low=LOW, high=HIGH):
    return torch.maximum(-adv * values, -adv * values.clamp(1 - low, 1 + high))


def row_mean(values, mask):
    return torch.where(mask, values, 0.0).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)


def vanilla(b, logp):
    loss = surrogate(ratio(logp, b.old), b.advantages)
    return torch.where(b.advantages < 0, torch.minimum(loss, -b.advantages * C), loss)


def gspo(b, logp):
    mean = row_mean(logp - b.old, b.mask).detach()
    return surrogate(torch.exp((mean + logp - logp.detach()).clamp(max=10)), b.advantages, 0.05, 0.06)


def sapo(b, logp):
    tau = torch.where(b.advantages > 0, 1.0, 1.05).double()
    return -b.advantages * torch.sigmoid(tau * (ratio(logp, b.old) - 1)) * 4 / tau


def gpg(b, logp):
    return -b.advantages * logp


def cispo(b, logp):
    return -ratio(logp, b.old).clamp(1 - LOW, 1 + HIGH).detach() * b.advantages * logp


def geo_mean(b, logp):
    sign = torch.sign(b.advantages)
    move = logp - b.old
    held = sign * torch.minimum(sign * move, sign * move.clamp(-0.4, 0.4))
    loss = -row_mean(b.advantages, b.mask) * torch.exp(row_mean(held, b.mask))
    return loss.expand(b.mask.shape)


def dppo(b, logp, inside):
    keep = inside(logp.exp(), b.old.exp()).detach()
    return torch.where(keep, -b.advantages * ratio(logp, b.old).clamp(max=C).detach() * logp, 0.0)


def dppo_tv(b, logp):
    return dppo(b, logp, lambda p, q: torch.where(b.advantages > 0, p - q <= HIGH, p - q >= -LOW))


def dppo_kl(b, logp):
    def inside(p, q):
        kl = q * (b.old - logp) + (1 - q) * torch.log((1 - q + 1e-8) / (1 - p + 1e-8))
        return torch.where(b.advantages > 0, (kl <= 0.02) | (p <= q), (kl <= 0.01) | (p >= q))

    return dppo(b, logp, inside)


def dro(b, logp):
    return -(logp * b.advantages - 0.3 / 2 * (logp - b.old) ** 2)


def covariance(b, logp):
    def centred(values):
        return values - values[b.mask].mean()

    return (centred(b.advantages) * centred(logp)).detach()


def clip_cov(b, logp):
    """With a share of 1 every token of the range is left out, whatever is drawn."""
    values = torch.exp(logp - b.old)
    clipped = -b.advantages * values.clamp(1 - LOW, 1 + HIGH) > -b.advantages * values
    cov = covariance(b, logp)
    return torch.where((cov > 0.1) & (cov < 2.0) & ~clipped, 0.0, surrogate(values, b.advantages))


def kl_cov(b, logp):
    cov = torch.where(b.mask, covariance(b, logp), -torch.inf)
    top = cov.flatten().topk(int(0.3 * int(b.mask.sum()))).indices
    held = torch.zeros(b.mask.numel(), dtype=torch.bool)
    held[top] = True
    move = logp - b.old
    return -b.advantages * torch.exp(move) + torch.where(held.view(b.mask.shape), 0.7 * move.abs(), 0.0)


CLIP = {"clip_ratio_low": LOW, "clip_ratio_high": HIGH, "clip_ratio_c": C}
LOSSES = {
    "vanilla": (vanilla, CLIP),
    "gspo": (gspo, {"clip_ratio_low": 0.05, "clip_ratio_high": 0.06}),
    "sapo": (sapo, {"tau_pos": 1.0, "tau_neg": 1.05}),
    "gpg": (gpg, {}),
    "cispo": (cispo, CLIP),
    "geo_mean": (geo_mean, {"clip_ratio_low": 0.4, "clip_ratio_high": 0.4}),
    "dppo_tv": (dppo_tv, CLIP),
    "dppo_kl": (dppo_kl, {"clip_ratio_low": 0.01, "clip_ratio_high": 0.02, "clip_ratio_c": C}),
    "dro": (dro, {"dro_beta": 0.3}),
    "clip_cov": (clip_cov, {**CLIP, "clip_cov_ratio": 1.0, "clip_cov_lb": 0.1, "clip_cov_ub": 2.0}),
    "kl_cov": (kl_cov, {"kl_cov_ratio": 0.3, "ppo_kl_coef": 0.7}),
}
SEQUENCE_MEAN = ("gspo", "sapo", "geo_mean")


def losses(b: Batch) -> dict:
    result = {}
    for name, (token_loss, params) in LOSSES.items():
        for weighted in (False, True):
            logp = b.logp.clone().requires_grad_()
            values = token_loss(b, logp) * (b.is_weights if weighted else 1.0)
            values = torch.where(b.mask, values, 0.0)
            if name in SEQUENCE_MEAN:
                loss = (values.sum(-1) / b.mask.sum(-1)).mean()
            else:
                loss = values.sum() / b.mask.sum()
            loss.backward()
            gradient = torch.where(b.mask, logp.grad, 0.0)
            if name == "geo_mean" and weighted:
                continue  # one ratio a sequence: a weight for each token has no meaning in it
            result[f"{name}{' weighted' if weighted else ''}"] = {
                "loss_mode": name, "weighted": weighted, "params": params, "loss": loss.item(),
                "d_logp": b.packed(gradient)}
    return result


# ---- advantages [S, W] ----------------------------------------------------------------------------------------

GAMMA = 0.9


def groups(b: Batch):
    uids = torch.tensor(UIDS)
    return [(uids == uid).nonzero().flatten() for uid in sorted(set(UIDS))]


def on_tokens(b, scalars):
    return torch.where(b.mask, scalars[:, None], 0.0)


def whitened(b, values):
    kept = values[b.mask]
    return torch.where(b.mask, (values - kept.mean()) / torch.sqrt(kept.var() + 1e-8), 0.0)


def per_group(b, rewards, rule):
    result = torch.zeros_like(rewards)
    for members in groups(b):
        result[members] = rule(rewards[members], members)
    return result


def to_go(b):
    result = torch.zeros_like(b.rewards)
    for row in range(len(LENGTHS)):
        total = 0.0
        for column in reversed(b.mask[row].nonzero().flatten().tolist()):
            total = b.rewards[row, column] + GAMMA * total
            result[row, column] = total
    return result


def lead(r, _):
    best = r.argmax()
    second = torch.cat([r[:best], r[best + 1:]]).max()
    result = torch.zeros_like(r)
    result[best] = (r[best] - second) / (r.std() + 1e-6)
    return result


def estimators(b: Batch) -> dict:
    total = torch.where(b.mask, b.rewards, 0.0).sum(-1)
    lengths = b.mask.sum(-1).double()
    greedy = torch.linspace(-0.5, 0.5, len(LENGTHS)).double()
    share = len(LENGTHS) / max(1, int((total != 0).sum()))
    table = {
        "grpo": on_tokens(b, per_group(b, total, lambda r, _: (r - r.mean()) / (r.std() + 1e-6))),
        "grpo_passk": on_tokens(b, per_group(b, total, lead)),
        "rloo": on_tokens(b, per_group(b, total, lambda r, _: (r * len(r) - r.sum()) / (len(r) - 1))),
        "opo": on_tokens(b, per_group(
            b, total, lambda r, m: r - (lengths[m] * r).sum() / lengths[m].sum())),
        "gpg": on_tokens(b, per_group(b, total, lambda r, _: share * (r - r.mean()))),
        "reinforce_plus_plus": whitened(b, to_go(b)),
        "reinforce_plus_plus_baseline": whitened(b, on_tokens(b, per_group(b, total, lambda r, _: r - r.mean()))),
        "remax": torch.where(b.mask, to_go(b) - greedy[:, None], 0.0),
    }
    return {"gamma": GAMMA, "baselines": greedy.tolist(),
            "values": {name: b.packed(values) for name, values in table.items()}}


if __name__ == "__main__":
    main()
